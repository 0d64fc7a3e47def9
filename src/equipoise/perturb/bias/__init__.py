"""How far an edit can be told from its original by words alone (text-only bias), and drawing against it. No image, no
model of images."""

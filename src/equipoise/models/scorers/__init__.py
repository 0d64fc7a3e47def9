"""Models that read image and text together: matching heads (itm:), generative models (vqa:, likelihood:).

Each is a pair scorer (models.base). Weights come from safetensors alone, no code of a folder is run, images are
prepared with Pillow (transformers' torchvision processors give other pixels, and torchvision is no dependency).
"""

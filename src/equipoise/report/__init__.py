"""What people look at: tables and the HTML page. Sees results, never models or torch."""

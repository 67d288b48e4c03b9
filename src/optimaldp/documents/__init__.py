"""Every file format, in one place; each file says which version of its format it has, and meanings never change."""

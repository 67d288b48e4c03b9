"""What the workshop around the code uses; nothing here is installed."""

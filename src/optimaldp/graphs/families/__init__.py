"""The families of dataset graphs that papers and tables use, each made by array operations."""

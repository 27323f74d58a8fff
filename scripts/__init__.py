"""Programs around the product: those that set it up, and those that write generated files. Run as modules."""

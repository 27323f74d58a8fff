"""Model servers reached by HTTP, and the dialects they speak."""

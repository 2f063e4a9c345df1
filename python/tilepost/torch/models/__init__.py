"""Models whose layers are divided among ranks: those of Hugging Face's transformers, and others of their form."""

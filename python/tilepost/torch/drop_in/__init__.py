"""tilepost's operations in the place of PyTorch's fused ones (async-TP), which models, compilers and engines call."""

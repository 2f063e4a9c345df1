// The names of PyTorch that authors' launches need. No kernel uses them.
#pragma once

namespace torch {
struct Tensor;
}

namespace at {
using torch::Tensor;
}

// As much of PyTorch as the names in authors' launches need, which no kernel uses.
#pragma once

namespace torch {
struct Tensor;
}

namespace at {
using torch::Tensor;
}

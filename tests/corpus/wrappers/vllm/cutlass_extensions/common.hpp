// Stands in for vLLM's header of this name, which needs torch.
#pragma once

// A kernel for sm_90 and later.
template <typename Kernel>
struct enable_sm90_or_later : Kernel {};

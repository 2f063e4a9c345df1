// The names of the loads of `--load`, for the tool, which reads the option, and for the harness,
// which draws tokens.
#pragma once

namespace tilepost {

// In the order of the enumerators of bench::ExpertLoad. The first one is the default.
inline constexpr const char* kExpertLoads[] = {"random", "even", "one_expert", "one_rank"};

}  // namespace tilepost

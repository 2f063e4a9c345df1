// Headers of the standard library that the runtime and harnesses include, read once for all tests
// that compile these (tilepost_keep_runtime). The build compiles the same sources without it.
#ifndef TILEPOST_TESTS_STD_H
#define TILEPOST_TESTS_STD_H

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#endif  // TILEPOST_TESTS_STD_H

// Headers of the standard library that most sources include. Compilers read them once for each
// library (tilepost_precompile), and for all tests that compile the runtime
// (tilepost_keep_runtime). A source still includes what it uses: with TILEPOST_UNITY=OFF, as in
// the preset dev, it is compiled without this file.
#ifndef TILEPOST_STD_H
#define TILEPOST_STD_H

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

#endif  // TILEPOST_STD_H

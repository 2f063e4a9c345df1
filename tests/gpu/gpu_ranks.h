// What the GPU tests share, in one process with a thread for each GPU.
//
// A failed check prints where and why, and ends the process with exit code 1. The other ranks'
// threads may be in a collective, which cannot be left.
#pragma once

#include <cuda_runtime_api.h>
#include <fnmatch.h>

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/gpu_kernels.h"
#include "tests/gpu/registry.h"
#include "tilepost/tilepost.hpp"

namespace gpu_test {

constexpr int kSkipped = 77;  // CTest and automake take this exit code for 'skipped'

[[noreturn]] inline void die(const char* file, int line, const std::string& text) {
  std::fprintf(stderr, "%s:%d: FAIL: %s\n", file, line, text.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

#define EXPECT(condition, text)                                                                   \
  do {                                                                                            \
    if (!(condition)) ::gpu_test::die(__FILE__, __LINE__, std::string(#condition ": ") + (text)); \
  } while (false)

#define CUDA_OK(call)                                                                             \
  do {                                                                                            \
    if (const cudaError_t error_ = (call); error_ != cudaSuccess)                                 \
      ::gpu_test::die(__FILE__, __LINE__, std::string(#call " → ") + cudaGetErrorString(error_)); \
  } while (false)

#define TILEPOST_OK_(call)                                                                \
  do {                                                                                    \
    if (const tilepost::Status status_ = (call); !status_)                                \
      ::gpu_test::die(__FILE__, __LINE__,                                                 \
                      std::string(#call " → ") + status_.name() + ": " + status_.text()); \
  } while (false)

// What the ranks of one group of threads share.
class Ranks {
 public:
  explicit Ranks(int world) : world_(world), barrier_(world) {}

  int world() const { return world_; }
  void barrier() { barrier_.arrive_and_wait(); }

  // A new unique id, which is the same on all ranks. Every rank calls this.
  tilepost_unique_id_t new_id(int rank) {
    barrier();
    if (rank == 0) TILEPOST_OK_(tilepost::Status(tilepost_get_unique_id(&id_)));
    barrier();
    return id_;
  }

  // Calls body(rank) on one thread for each rank, with device `rank` current.
  void run(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < world_; ++rank)
      threads.emplace_back([&body, rank] {
        CUDA_OK(cudaSetDevice(rank));
        preload();
        body(rank);
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  int world_;
  std::barrier<> barrier_;
  tilepost_unique_id_t id_{};
};

inline int num_gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// A plan that describes the program's problem. All plans of a program have one shape and its types.
inline const tilepost_plan_t& plan_of(const tilepost_program_t& program) {
  return program.plans[0];
}

inline Shape shape_of(const tilepost_program_t& program) {
  const tilepost_plan_t& plan = plan_of(program);
  return {static_cast<int>(plan.map.m), static_cast<int>(plan.map.n), static_cast<int>(plan.k),
          plan.ranks};
}

// Converts unique ids and finds programs for command lines.
inline std::string to_hex(const tilepost_unique_id_t& id) {
  std::string text;
  for (const char byte : id.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}
inline tilepost_unique_id_t from_hex(const std::string& text) {
  tilepost_unique_id_t id{};
  for (size_t i = 0; i < sizeof id.bytes; ++i)
    id.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}
inline const tilepost_program_t* find_program(const std::string& name) {
  for (int i = 0; i < kNumPrograms; ++i)
    if (name == kPrograms[i]->name) return kPrograms[i];
  return nullptr;
}

// The value of NCCL_HOSTID for a rank's process. NCCL assumes that ranks with one host share its
// memory. It allows two ranks on one GPU only if they are on different hosts.
inline std::string host_of(int rank, int ranks, int hosts) {
  return "tilepost-host-" + std::to_string(rank * hosts / ranks);
}
// Such hosts have only sockets between them. Call it before a unique id is made.
inline void use_loopback() {
  for (const auto& [name, value] :
       {std::pair{"NCCL_SOCKET_IFNAME", "lo"}, std::pair{"NCCL_IB_DISABLE", "1"},
        std::pair{"NCCL_MNNVL_ENABLE", "0"}})
    setenv(name, value, 1);
}

// The command line: [pattern …] [--name value …]. Patterns choose programs by name, with the
// shell's wildcards and bash's extended ones: 'ar_*' '!(*_peer)'. `--part 2/4` runs every fourth
// program from the second on. Programs that need more GPUs than there are are skipped with a note,
// unless `--devices same` puts all ranks on the first GPU.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (std::strncmp(argv[i], "--", 2) != 0)
        names_.emplace_back(argv[i]);
      else if (i + 1 < argc)
        options_.emplace_back(argv[i] + 2, argv[i + 1]), ++i;
    }
  }

  std::string text(const char* name, const std::string& fallback) const {
    for (const auto& [option, value] : options_)
      if (option == name) return value;
    return fallback;
  }
  double number(const char* name, double fallback) const {
    const std::string given = text(name, "");
    return given.empty() ? fallback : std::atof(given.c_str());
  }

  const std::vector<std::string>& names() const { return names_; }
  bool on_one_gpu() const { return text("devices", "") == "same"; }

  std::vector<const tilepost_program_t*> programs() const {
    std::vector<const tilepost_program_t*> chosen;
    const int gpus = num_gpus();
    int part = 1, parts = 1, position = 0;
    std::sscanf(text("part", "1/1").c_str(), "%d/%d", &part, &parts);
    for (int i = 0; i < kNumPrograms; ++i) {
      const tilepost_program_t* program = kPrograms[i];
      if (!wanted(program->name) || position++ % parts != part - 1) continue;
      if (plan_of(*program).ranks > gpus && !(gpus > 0 && on_one_gpu()))
        std::printf("SKIP %s: needs %d GPUs, found %d\n", program->name, plan_of(*program).ranks,
                    gpus);
      else
        chosen.push_back(program);
    }
    return chosen;
  }

  // Names and patterns that match no program.
  std::vector<std::string> unknown() const {
    std::vector<std::string> left;
    for (const std::string& given : names_) {
      bool matches = false;
      for (int i = 0; i < kNumPrograms; ++i) matches |= is_named(given, kPrograms[i]->name);
      if (!matches) left.push_back(given);
    }
    return left;
  }

 private:
  static bool is_named(const std::string& given, const char* name) {
    return fnmatch(given.c_str(), name, FNM_EXTMATCH) == 0;
  }
  bool wanted(const char* name) const {
    for (const std::string& given : names_)
      if (is_named(given, name)) return true;
    return names_.empty();
  }

  std::vector<std::string> names_;
  std::vector<std::pair<std::string, std::string>> options_;
};

// Whether every name matches a program. Prints the names that do not. All drivers call it first.
inline bool names_are_known(const Arguments& arguments) {
  for (const std::string& name : arguments.unknown())
    std::printf("FAIL: no program is named '%s'\n", name.c_str());
  return arguments.unknown().empty();
}

// Runs `test` on each chosen program, and begins none later than --seconds after the first. With
// `--list 1` it only prints their names. Returns the exit code of the test program.
inline int run_programs(const Arguments& arguments,
                        const std::function<void(const tilepost_program_t&)>& test) {
  if (!names_are_known(arguments)) return 1;
  const auto programs = arguments.programs();
  const auto begin = std::chrono::steady_clock::now();
  for (const tilepost_program_t* program : programs) {
    if (arguments.number("list", 0) != 0) {
      std::printf("%s\n", program->name);
      continue;
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (elapsed.count() > arguments.number("seconds", 1e9)) {
      std::printf("# no time for %s\n", program->name);
      continue;
    }
    test(*program);
    std::printf("PASS %s\n", program->name);
    std::fflush(stdout);
  }
  if (programs.empty()) std::printf("SKIP: no program to run\n");
  return programs.empty() ? kSkipped : 0;
}

// Device memory and a stream of one rank. They are released together.
class Device {
 public:
  Device() { CUDA_OK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    for (void* pointer : pointers_) cudaFree(pointer);
    cudaStreamDestroy(stream_);
  }

  template <class T = void>
  T* allocate(int64_t bytes) {
    void* pointer = nullptr;
    CUDA_OK(cudaMalloc(&pointer, static_cast<size_t>(bytes)));
    pointers_.push_back(pointer);
    return static_cast<T*>(pointer);
  }
  cudaStream_t stream() const { return stream_; }
  void synchronize() const { CUDA_OK(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
  std::vector<void*> pointers_;
};

}  // namespace gpu_test

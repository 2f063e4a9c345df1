#include "generator/spec/identifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tilepost {
namespace {

using std::string_view;

// Headers of the C library, of compilers, of CUDA and of NCCL. A compiler may look for them first
// in the folder of the generated <name>.h, and would take that file for the header.
constexpr string_view kHeaders =
    "aio aliases alloca ar argp argz assert builtin_types byteswap channel_descriptor "
    "common_functions complex cooperative_groups cpio crypt ctype cuComplex cublas cublasLt "
    "cublas_api cublas_v2 cuda cudaProfiler cudaTypedefs cuda_awbarrier cuda_bf16 "
    "cuda_device_runtime_api cuda_fp16 cuda_fp4 cuda_fp6 cuda_fp8 cuda_occupancy cuda_pipeline "
    "cuda_profiler_api cuda_runtime cuda_runtime_api cuda_stdint cudart_platform curand "
    "curand_kernel cxxabi device_atomic_functions device_double_functions device_functions "
    "device_launch_parameters device_types dirent dlfcn driver_functions driver_types elf "
    "endian envz err errno error execinfo fatbinary_section fcntl features fenv float fmtmsg "
    "fnmatch fstab fts ftw gconv getopt glob grp gshadow host_config host_defines iconv ifaddrs "
    "inttypes iso646 langinfo lastlog libgen libintl library_types limits link locale malloc "
    "math math_constants math_functions mcheck memory mma mntent monetary mqueue nccl "
    "nccl_device nccl_net netdb nl_types nss nvml nvrtc obstack omp paths poll printf "
    "proc_service pthread pty pwd re_comp regex regexp resolv sched search semaphore setjmp "
    "sgtty shadow signal sm_20_atomic_functions sm_20_intrinsics sm_30_intrinsics "
    "sm_32_atomic_functions sm_32_intrinsics sm_35_atomic_functions sm_35_intrinsics "
    "sm_60_atomic_functions sm_61_intrinsics spawn stab stdalign stdarg stdatomic stdbit "
    "stdbool stdckdint stddef stdint stdio stdio_ext stdlib stdnoreturn string strings "
    "surface_indirect_functions surface_types syscall sysexits syslimits syslog tar termio "
    "termios texture_indirect_functions texture_types tgmath thread_db threads time ttyent "
    "uchar ucontext ulimit unistd unwind utime utmp utmpx values varargs vector_functions "
    "vector_types wait wchar wctype wordexp";

// Unlike std::isdigit and std::isalnum these two do not depend on the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

std::span<const string_view> taken_names() {
  static const std::vector<string_view> names = [] {
    std::vector<string_view> words = {"false", "true"};
    for (size_t begin = 0, end; begin < kHeaders.size(); begin = end + 1) {
      end = std::min(kHeaders.find(' ', begin), kHeaders.size());
      words.push_back(kHeaders.substr(begin, end - begin));
    }
    std::ranges::sort(words);
    return words;
  }();
  return names;
}

bool is_c_name(string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_word) && !is_digit(name[0]);
}

std::string why_not_a_name(string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) {
    return fmt::format("has {} characters, at most {} are allowed", name.size(), kMaxNameLength);
  }
  if (!is_c_name(name))
    return "is not a C identifier (letters, digits and '_', not starting with a digit)";
  if (name[0] == '_') return "starts with an underscore; C++ reserves such names";
  if (name.find("__") != string_view::npos) return "contains '__'; C++ reserves such names";
  if (name.starts_with(kReservedPrefix)) return "starts with 'tilepost', which is the runtime's";
  if (name.ends_with('_'))
    return "ends with an underscore; <name>_program would contain '__', which C++ reserves";
  if (name == "true" || name == "false") return "is a truth value to readers of YAML, not a word";
  if (std::ranges::binary_search(taken_names(), name))
    return fmt::format("is a header of the system or of CUDA; <{}.h> would find the generated one",
                       name);
  return "";
}

}  // namespace tilepost

#include "tests/infer/oracle.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace tilepost {
namespace {

// A program that executes each kernel in a process of its own: it fills memory, runs a block, and
// checks what has changed.
constexpr char kDriver[] = R"(
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>
#include <signal.h>
#include <ucontext.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct Case { int m, n, tile_m, tile_n, bytes; unsigned threads[3], grid[3]; };
constexpr long kMargin = 1 << 15;  // bytes before and behind the output; more than them is no memory
constexpr long kNothing = 1L << 28;
static float inputs[1 << 21];      // what A and the others point into the middle of

// What a kernel reads, and what it does within its own arrays, is not looked at: only a store around
// the output fails here.
static unsigned char *output_begin, *output_end;
static void on_fault(int, siginfo_t* info, void* state) {
  auto* at = static_cast<unsigned char*>(info->si_addr);
  const bool writes = static_cast<ucontext_t*>(state)->uc_mcontext.gregs[REG_ERR] & 2;
  std::_Exit(writes && output_begin <= at && at < output_end ? 1 : 99);
}

// 0: each block stores all of one tile, no two the same; 1 otherwise.
template <class Kernel> int footprint(const Case& c, Kernel kernel) {
  const long bytes = 1L * c.m * c.n * c.bytes;
  const long size = bytes + 2 * kMargin;
  auto* all = static_cast<unsigned char*>(
      mmap(nullptr, size + 2 * kNothing, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  unsigned char* memory = all + kNothing;
  output_begin = all;
  output_end = all + size + 2 * kNothing;
  mprotect(memory, size, PROT_READ | PROT_WRITE);
  const auto fill = [](long i) { return static_cast<unsigned char>((i * 131 + (i >> 8) * 7 + 89) & 63); };  // no NaN
  std::vector<unsigned char> pattern(size);
  for (long i = 0; i < size; ++i) memory[i] = pattern[i] = fill(i);
  std::set<std::pair<long, long>> done;
  const dim3 grid(c.grid[0], c.grid[1], c.grid[2]), threads(c.threads[0], c.threads[1], c.threads[2]);
  for (unsigned z = 0; z < c.grid[2]; ++z)
    for (unsigned y = 0; y < c.grid[1]; ++y)
      for (unsigned x = 0; x < c.grid[0]; ++x) {
        tilepost::cpu::run_block_in_turn(grid, threads, {x, y, z}, 0, [&] { kernel(memory + kMargin); });
        long tile_m = -1, tile_n = -1, count = 0;
        long last = -1;
        if (std::memcmp(memory, pattern.data(), size) == 0) continue;
        for (long i = 0; i < size; ++i) {
          if (memory[i] == pattern[i]) continue;
          memory[i] = pattern[i];
          if (i < kMargin || i >= kMargin + bytes) return 1;
          const long element = (i - kMargin) / c.bytes, row = element / c.n, column = element % c.n;
          if (tile_m < 0) tile_m = row / c.tile_m, tile_n = column / c.tile_n;
          if (row / c.tile_m != tile_m || column / c.tile_n != tile_n) return 1;
          count += element != last;
          last = element;
        }
        if (tile_m < 0) continue;
        const long rows = std::min<long>(c.tile_m, c.m - tile_m * c.tile_m);
        const long columns = std::min<long>(c.tile_n, c.n - tile_n * c.tile_n);
        if (count != rows * columns || !done.insert({tile_m, tile_n}).second) return 1;
      }
  const long tiles = 1L * ((c.m + c.tile_m - 1) / c.tile_m) * ((c.n + c.tile_n - 1) / c.tile_n);
  return static_cast<long>(done.size()) != tiles;
}

template <class Kernel> void judge(const Case& c, Kernel kernel) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    std::_Exit(footprint(c, kernel));
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool ended = WIFEXITED(status);
  const int code = ended ? WEXITSTATUS(status) : 99;  // it does not end, or an assertion ends it
  std::puts(code == 0 ? "holds" : code == 99 ? "undefined" : "fails");
  std::fflush(stdout);
}
)";

// The value for a parameter of this name and type.
std::string argument_for(const Parameter& parameter, const KernelFacts& facts) {
  const bool pointer = parameter.type.find('*') != std::string::npos;
  if (parameter.name == facts.out) return "(" + parameter.type + ")out";
  if (facts.nulls.count(parameter.name)) return "nullptr";
  if (pointer) return "(" + parameter.type + ")(inputs + (1 << 20))";
  const auto number = facts.numbers.find(parameter.name);
  return number == facts.numbers.end() ? "2" : std::to_string(number->second);
}

std::string numbers(const std::array<int64_t, 3>& list) {
  return "{" + std::to_string(list[0]) + ", " + std::to_string(list[1]) + ", " +
         std::to_string(list[2]) + "}";
}

// Writes the kernel's text into a namespace of its own.
void write_kernel(std::ostream& out, const InferCase& kernel, size_t index) {
  std::istringstream lines(std::regex_replace(kernel.source,
                                              std::regex("extern __shared__ float memory\\[\\]"),
                                              "__shared__ float memory[65536]"));
  std::vector<std::string> macros;
  out << "namespace kernel" << index << " {\n";
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#include", 0) == 0) continue;
    std::smatch found;
    if (std::regex_search(line, found, std::regex("^#define (\\w+)"))) macros.push_back(found[1]);
    out << line << "\n";
  }
  out << "}\n";
  for (const std::string& macro : macros) out << "#undef " << macro << "\n";
}

void write_runs(std::ostream& out, const InferCase& kernel, size_t index) {
  for (const KernelFacts& facts : kernel.shapes) {
    out << "  judge({" << facts.m << ", " << facts.n << ", " << facts.tile[0] << ", "
        << facts.tile[1] << ", " << facts.out_bytes << ", " << numbers(facts.threads) << ", "
        << numbers(facts.grid) << "}, [](unsigned char* out) { kernel" << index
        << "::" << kernel.function << "(";
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
      out << (i ? ", " : "") << argument_for(kernel.parameters[i], facts);
    }
    out << "); });\n";
  }
}

}  // namespace

std::vector<Verdict> run_on_cpu(const std::vector<InferCase>& kernels, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string source = folder + "/oracle.cpp", program = folder + "/oracle",
                    output = folder + "/oracle.txt";
  {
    std::ofstream out(source);
    out << "#include \"" << TILEPOST_INFER_FOLDER << "/shim.h\"\n#undef printf\n"
        << kDriver << "#define printf(...) 0\n";
    for (size_t i = 0; i < kernels.size(); ++i) write_kernel(out, kernels[i], i);
    out << "int main() {\n  for (long i = 0; i < 1 << 21; ++i) inputs[i] = i % 1021;\n";
    for (size_t i = 0; i < kernels.size(); ++i) write_runs(out, kernels[i], i);
    out << "}\n";
  }
  const std::string command = std::string(TILEPOST_CXX) +
                              " -std=c++20 -O1 -w -fpermissive -fsanitize=address,bounds -I " +
                              TILEPOST_INFER_FOLDER + "/../.. " + source + " -o " + program +
                              " && ASAN_OPTIONS=handle_segv=0:exitcode=99:detect_leaks=0 " +
                              program + " > " + output + " 2> " + folder + "/errors.txt";
  if (std::system(command.c_str()) != 0) return {};  // NOLINT(cert-env33-c)
  std::vector<Verdict> verdicts;
  std::ifstream lines(output);
  for (const InferCase& kernel : kernels) {
    Verdict all = Verdict::holds;
    for (size_t i = 0; i < kernel.shapes.size(); ++i) {
      std::string line;
      std::getline(lines, line);
      if (line == "undefined") all = Verdict::undefined;
      if (line != "holds" && line != "undefined" && all == Verdict::holds) all = Verdict::fails;
    }
    verdicts.push_back(all);
  }
  return verdicts;
}

}  // namespace tilepost

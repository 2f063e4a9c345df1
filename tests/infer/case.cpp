#include "tests/infer/case.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/diagnostic_printer.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {
namespace {

// The value behind "// key:" of the line, or nothing.
std::optional<std::string> value_of(const std::string& line, const std::string& key) {
  const std::string start = "// " + key + ": ";
  if (line.rfind(start, 0) != 0) return std::nullopt;
  return line.substr(start.size());
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// "M m N n ldc n": a parameter and m, n, k or a number, in turn.
std::map<std::string, int64_t> read_numbers(const std::string& text, const KernelFacts& facts) {
  std::map<std::string, int64_t> numbers;
  std::istringstream words(text);
  for (std::string name, value; words >> name >> value;) {
    numbers[name] = value == "m"   ? facts.m
                    : value == "n" ? facts.n
                    : value == "k" ? facts.k
                                   : std::stoll(value);
  }
  return numbers;
}

std::array<int64_t, 3> read_grid(const std::string& text, const KernelFacts& facts) {
  std::array<int64_t, 3> grid{1, 1, 1};
  std::istringstream words(text);
  std::string word;
  for (int axis = 0; axis < 3 && words >> word; ++axis) {
    const int64_t rows = ceil_div(facts.m, facts.tile[0]);
    const int64_t columns = ceil_div(facts.n, facts.tile[1]);
    grid[axis] = word == "rows"      ? rows
                 : word == "columns" ? columns
                 : word == "linear"  ? rows * columns
                                     : std::stoll(word);
  }
  return grid;
}

}  // namespace

InferCase make_case(const std::string& name, const std::string& source) {
  InferCase kernel;
  kernel.name = name;
  kernel.source = source;
  KernelFacts facts;
  facts.k = 64;
  facts.out = "C";
  facts.out_bytes = 4;
  std::string grid = "columns rows", shapes = "128x192 70x101", numbers = "M m N n K k ldc n";
  bool any_m = false;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    if (auto v = value_of(line, "tile")) std::istringstream(*v) >> facts.tile[0] >> facts.tile[1];
    if (auto v = value_of(line, "threads")) {
      std::istringstream(*v) >> facts.threads[0] >> facts.threads[1] >> facts.threads[2];
      for (int64_t& threads : facts.threads) threads = std::max<int64_t>(threads, 1);
    }
    if (auto v = value_of(line, "grid")) grid = *v;
    if (auto v = value_of(line, "shapes")) shapes = *v;
    if (auto v = value_of(line, "numbers")) numbers = *v;
    if (auto v = value_of(line, "out")) facts.out = *v;
    if (auto v = value_of(line, "nulls")) {
      std::istringstream words(*v);
      for (std::string parameter; words >> parameter;) facts.nulls.insert(parameter);
    }
    if (auto v = value_of(line, "function")) kernel.function = *v;
    if (auto v = value_of(line, "bytes")) facts.out_bytes = std::stoi(*v);
    if (auto v = value_of(line, "order")) kernel.order = *v;
    if (value_of(line, "any_m")) any_m = true;
    if (value_of(line, "reads")) kernel.reads = true;
    if (value_of(line, "once")) kernel.once = true;
    if (value_of(line, "leaves")) kernel.leaves = true;
    if (auto v = value_of(line, "expect")) kernel.expected.push_back(*v);
  }
  const auto shape_of = [grid, numbers](KernelFacts of, int64_t m, int64_t n) {
    of.m = m;
    of.n = of.out_ld = n;
    of.grid = read_grid(grid, of);
    of.numbers = read_numbers(numbers, of);
    return of;
  };
  std::istringstream list(shapes);
  for (std::string shape; list >> shape;)
    kernel.shapes.push_back(
        shape_of(facts, std::stoll(shape), std::stoll(shape.substr(shape.find('x') + 1))));
  if (any_m)
    kernel.at = [=, n = kernel.shapes.front().n](int64_t m) { return shape_of(facts, m, n); };
  return kernel;
}

InferCase read_case(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return make_case(std::filesystem::path(path).stem().string(), text.str());
}

std::vector<std::string> case_files(const std::string& folder) {
  std::vector<std::string> list;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TILEPOST_INFER_FOLDER) + "/" + folder)) {
    if (entry.path().extension() == ".cu") list.push_back(entry.path().string());
  }
  std::sort(list.begin(), list.end());
  return list;
}

InferResult infer_case(const InferCase& kernel) {
  InferResult result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  Reading reading;
  reading.asked = kernel.function;
  reading.full = kernel.full;
  read_function(
      OneFile(kernel.full ? kernel.full->path : "kernel.cu", kernel.source), reading, diagnostics,
      [&](const Parsed& parsed, const Instance& instance) {
        result.parameters = instance.parameters;
        const auto start = std::chrono::steady_clock::now();
        result.inferred = infer(parsed, instance.function, kernel.shapes, kernel.at);
        result.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      });
  return result;
}

}  // namespace tilepost

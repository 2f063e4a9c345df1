// Writes the program of one spec under many names, and prints the names that are refused. Usage:
// write_named <spec> <folder>. The names come on standard input.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "generator/diagnostic_printer.h"
#include "generator/driver.h"
#include "generator/spec/identifier.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::stringstream spec;
  spec << std::ifstream(argv[1]).rdbuf();
  const std::filesystem::path folder = argv[2];
  tilepost::DiagnosticPrinter diagnostics(llvm::errs());
  for (std::string name; std::getline(std::cin, name);) {
    if (!tilepost::why_not_a_name(name).empty()) {
      std::cout << name << "\n";
      continue;
    }
    for (const tilepost::OutputFile& file :
         tilepost::generate({"names.yaml", spec.str(), {{"name", "'" + name + "'"}}}, diagnostics))
      std::ofstream(folder / file.name) << file.text;
  }
  return diagnostics.ok() ? 0 : 1;
}

#include "generator/cli/arguments.h"

#include <fmt/format.h>

#include <vector>

namespace tilepost {

namespace cl = llvm::cl;

void drop_foreign_flags(const cl::Option& own) {
  std::vector<cl::Option*> foreign;
  for (const auto& entry : cl::getRegisteredOptions())
    if (!entry.getKey().starts_with("help") && entry.getKey() != "version" &&
        entry.getValue() != &own)
      foreign.push_back(entry.second);
  for (cl::Option* option : foreign) option->removeArgument();
}

std::string refuse_arguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (argv[i][0] == '@')
      return fmt::format(
          "'{}': arguments are not read from files; for a file whose name begins with "
          "@ write './{}'",
          argv[i], argv[i]);
  return "";
}

std::string refuse_letters(int argc, char** argv, const cl::SubCommand& command) {
  for (int i = 2; i < argc && llvm::StringRef(argv[i]) != "--"; ++i) {
    const llvm::StringRef word = argv[i];
    const llvm::StringRef flag = word.ltrim('-').split('=').first;
    if (!word.starts_with("-") || flag.size() < 2 || command.OptionsMap.contains(flag)) continue;
    const auto letter = command.OptionsMap.find(flag.take_front());
    if (letter == command.OptionsMap.end() || letter->second->getFormattingFlag() == cl::Prefix)
      continue;
    return fmt::format("unknown flag '{}'; -{} takes what follows it as a word of its own", argv[i],
                       flag.front());
  }
  return "";
}

}  // namespace tilepost

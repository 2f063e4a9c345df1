// Reads specs and writes results. Of a set of files it writes all or none, and only those that
// change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/emit/emit.h"

namespace tilepost {

// The text of a file, or of standard input for "-". If it cannot be read, reports why and returns
// nothing.
std::optional<std::string> read_text(const std::string& path, Diagnostics& diagnostics);

// Writes every file into `dir`, which is created if missing. A file whose bytes would not change is
// left alone, so that nothing is rebuilt. Each file is first written beside its place. When all are
// written they are renamed, headers last. If a file cannot be written or
// is read-only, none is changed. One program
// at a time writes into a folder. Removes temporary files of these that killed programs have left.
// Returns false after an error, which it reports.
bool write_files(const std::string& dir, const std::vector<OutputFile>& files,
                 Diagnostics& diagnostics);

// write_files() for one file at `path`.
bool write_file(const std::string& path, const std::string& text, Diagnostics& diagnostics);

// Whether write_file() could write to `path`. Call it before long work, whose result would
// otherwise be lost. Creates the folder and leaves the file alone. Reports why the file could not
// be written.
bool can_write_file(const std::string& path, Diagnostics& diagnostics);

// Whether `path`, which `flag` names, is none of the sources. The first source is the spec. If not,
// reports whether `path` is the spec or the kernel.
bool check_apart(const char* flag, const std::string& path, const std::vector<std::string>& sources,
                 Diagnostics& diagnostics);

// Whether `depfile` can hold the rule of make_depfile(): it is none of the files and none of the
// sources, and the names of these have no line ends. The first source is the spec. If not, reports
// why.
bool check_depfile(const std::string& depfile, const std::string& dir,
                   const std::vector<OutputFile>& files, const std::vector<std::string>& sources,
                   Diagnostics& diagnostics);

// A Makefile rule: every output in `dir` depends on all of `sources`.
std::string make_depfile(const std::string& dir, const std::vector<OutputFile>& files,
                         const std::vector<std::string>& sources);

}  // namespace tilepost

#include "generator/own/source/put_headers.h"

#include <map>

#include "tests/catch.h"

namespace tilepost {
namespace {

struct Case {
  OneFile one;
  OneFileError error;
  bool ok = false;
};

// Headers by what is written of them; quotes and brackets both.
Case put(const std::string& source, const std::map<std::string, std::string>& headers,
         const std::vector<std::string>& defines = {}) {
  Case result;
  result.one = OneFile("main.cu", source);
  result.ok = put_headers_in_place(
      result.one, defines,
      [&](const OneFile::File&, llvm::StringRef name, bool) {
        const auto at = headers.find(name.str());
        return at == headers.end() ? std::nullopt
                                   : std::optional(OneFile::File{at->first, at->second});
      },
      result.error);
  return result;
}

// The place of the first `word` in the result, as "file:offset".
std::string origin(const OneFile& one, const std::string& word) {
  const OneFile::Origin at = one.origin_of(one.text.find(word));
  return std::to_string(at.file) + ":" + std::to_string(at.offset);
}

}  // namespace

TEST_CASE("one file: a source without headers of its author is as it was") {
  const std::string source = "#include <cuda_fp16.h>\n// #include \"x.h\"\nint a;\n";
  const Case none = put(source, {});
  CHECK(none.ok);
  CHECK(none.one.text == source);
  CHECK(origin(none.one, "int a") == "0:" + std::to_string(source.find("int a")));
}

TEST_CASE("one file: headers are put in place, and every character knows where it was") {
  const Case both = put("#include \"a.h\"\nint c;\n",
                        {{"a.h", "#include <b.h>  // first\nint a;"}, {"b.h", "int b;\n"}});
  REQUIRE(both.ok);
  CHECK(both.one.text == "int b;\n  // first\nint a;\n\nint c;\n");
  CHECK(both.one.files.size() == 3);
  CHECK(origin(both.one, "int b") == "2:0");
  CHECK(origin(both.one, "int a") == "1:25");
  CHECK(origin(both.one, "int c") == "0:15");
}

TEST_CASE("one file: what is in comments, strings and other headers stays") {
  const std::string source =
      "/*\n#include \"a.h\"\n*/\nconst char* s = R\"(\n#include \"a.h\"\n)\";\n#include <vector>\n";
  CHECK(put(source, {{"a.h", "int a;\n"}}).one.text == source);
}

TEST_CASE("one file: pragma once becomes a guard, wherever the header is included first") {
  const Case twice = put("#if 0\n#include \"a.h\"\n#endif\n#include \"a.h\"\n",
                         {{"a.h", "// A header.\n#pragma once\nint a;\n"}});
  REQUIRE(twice.ok);
  const std::string header =
      "// A header.\n#ifndef TILEPOST_HEADER_1_\n#define TILEPOST_HEADER_1_\n\nint a;\n#endif  // "
      "TILEPOST_HEADER_1_\n";
  CHECK(twice.one.text == "#if 0\n" + header + "\n#endif\n" + header + "\n");
}

TEST_CASE("one file: macros are defined in front") {
  const Case defined = put("int a = N;\n", {}, {"N=3", "FAST", "EMPTY="});
  CHECK(defined.one.text == "#define N 3\n#define FAST 1\n#define EMPTY \nint a = N;\n");
  CHECK(origin(defined.one, "int a") == "0:0");
  CHECK(origin(defined.one, "FAST") == "0:0");
}

TEST_CASE("one file: a header without a guard that includes itself is refused where it does") {
  const Case itself = put("\n#include \"a.h\"\n", {{"a.h", "int a;\n#include \"a.h\"\n"}});
  CHECK_FALSE(itself.ok);
  CHECK(itself.error.file == 1);
  CHECK(itself.error.offset == 7);
  CHECK(itself.error.what.find("more than 200 deep; has '") != std::string::npos);
}

TEST_CASE("one file: more than a source may have is refused") {
  const Case large = put("#include \"a.h\"\n", {{"a.h", std::string((size_t{1} << 20) + 1, ' ')}});
  CHECK_FALSE(large.ok);
  CHECK(large.error.what.find("is longer than 1048576 bytes") != std::string::npos);
}

}  // namespace tilepost

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

// Puts headers in place. `headers` maps a name, in quotes or brackets, to the text.
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

TEST_CASE("one file: headers with guards may include each other") {
  const Case circle =
      put("#include \"a.h\"\n", {{"a.h", "#pragma once\n#include \"b.h\"\nint a;\n"},
                                 {"b.h", "#pragma once\n#include \"a.h\"\nint b;\n"}});
  REQUIRE(circle.ok);
  CHECK(circle.one.text ==
        "#ifndef TILEPOST_HEADER_1_\n#define TILEPOST_HEADER_1_\n\n"
        "#ifndef TILEPOST_HEADER_2_\n#define TILEPOST_HEADER_2_\n\n\nint b;\n"
        "#endif  // TILEPOST_HEADER_2_\n\nint a;\n#endif  // TILEPOST_HEADER_1_\n\n");
  for (const char* const asked : {"#ifndef B_H", "#if !defined(B_H)", "#if !defined B_H"}) {
    const Case named = put("#include \"b.h\"\n",
                           {{"b.h", std::string("// b\n") + asked +
                                        "\n#define B_H\n#include \"b.h\"\nint b;\n#endif\n"}});
    REQUIRE(named.ok);
    CHECK(named.one.text.find("int b;") == named.one.text.rfind("int b;"));
  }
  // A guard that does not enclose the whole header does not count.
  for (const char* const text : {"#ifndef B_H\n#define B_H\nint b;\n#endif\n#include \"b.h\"\n",
                                 "#ifndef B_H\n#define C_H\n#include \"b.h\"\n#endif\n",
                                 "#ifndef B_H\n#define B_H\n#else\n#include \"b.h\"\n#endif\n",
                                 "#if !defined(B_H) && N\n#define B_H\n#include \"b.h\"\n#endif\n"})
    CHECK_FALSE(put("#include \"b.h\"\n", {{"b.h", text}}).ok);
}

TEST_CASE("one file: what surely was put once is not put again") {
  const std::map<std::string, std::string> headers = {{"a.h", "#pragma once\nint a;\n"},
                                                      {"b.h", "#include \"a.h\"\n"}};
  const auto times = [&](const std::string& source) {
    const std::string text = put(source, headers).one.text;
    int count = 0;
    for (size_t at = 0; (at = text.find("int a;", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  CHECK(times("#include \"a.h\"\n#include \"a.h\"\n#include \"b.h\"\n") == 1);
  CHECK(times("#include \"b.h\"\n#if N\n#include \"a.h\"\n#endif\n") == 1);
  CHECK(times("#if N\n#include \"b.h\"\n#endif\n#include \"a.h\"\n#include \"b.h\"\n") == 2);
  CHECK(times("#ifdef N\n#else\n#include \"a.h\"\n#endif\n#include \"a.h\"\n") == 2);
}

TEST_CASE("one file: pragma once under a condition stays as it is") {
  const Case one = put("#include \"a.h\"\n", {{"a.h", "#ifdef N\n#pragma once\n#endif\nint a;\n"}});
  REQUIRE(one.ok);
  CHECK(one.one.text == "#ifdef N\n#pragma once\n#endif\nint a;\n\n");
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

// The C++ interface: owners move, release once, and carry the error's text.
#include "tests/catch.h"
#include "tests/runtime/fixture.h"
#include "tilepost/tilepost.hpp"

using Catch::Contains;
using fakes::world;

TEST_CASE_METHOD(OnFakes, "owners release what they own, once") {
  sample::Program program;
  tilepost::Comm comm;
  CHECK_FALSE(comm);
  REQUIRE(tilepost::Comm::init({}, 0, 2, comm));
  tilepost::Op op;
  REQUIRE(tilepost::Op::create(comm, &program.program, op));
  tilepost::Op moved = std::move(op);
  CHECK_FALSE(op);
  CHECK(moved.run(sample::pointer(1), sample::pointer(2), sample::pointer(3), nullptr).ok());
  CHECK(moved.synchronize().ok());
  CHECK(std::string(moved.warnings()).empty());
  tilepost_op_info_t info{};
  CHECK(moved.get_info(info).ok());
  op = std::move(moved);
  CHECK(op.status().ok());
}

TEST_CASE_METHOD(OnFakes, "a status carries the text of its error") {
  tilepost::Op empty;
  const tilepost::Status status =
      empty.run(sample::pointer(1), sample::pointer(2), sample::pointer(3), nullptr);
  CHECK_FALSE(status);
  CHECK(status.result() == TILEPOST_INVALID_ARGUMENT);
  CHECK(std::string(status.name()) == "TILEPOST_INVALID_ARGUMENT");
  CHECK_THAT(status.text(), Contains("op is null"));
  tilepost::Comm comm;
  CHECK(tilepost::Comm::init({}, 5, 2, comm).result() == TILEPOST_INVALID_ARGUMENT);
  CHECK_FALSE(comm);
}

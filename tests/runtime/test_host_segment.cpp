// Host memory that processes share: it is found by its address alone, and nothing of it is left
// when the processes are gone, however they end.
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/cuda/device/host_segment.h"
#include "runtime/cuda/shared/host/host_memory.h"
#include "tests/catch.h"

using Catch::Contains;
using tilepost::cuda::ControlGroups;
using tilepost::cuda::HostSegment;
using tilepost::cuda::why_no_room;

namespace {

constexpr size_t kBytes = 100'000;

bool exists(int64_t segment) {
  struct shmid_ds state {};
  return shmctl(static_cast<int>(segment), IPC_STAT, &state) == 0;
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

}  // namespace

TEST_CASE("segment: what one has written, another reads") {
  HostSegment one, other;
  const HostSegment::Address address = one.make(kBytes);
  REQUIRE(one.is_attached());
  for (size_t i = HostSegment::kFront; i < kBytes; ++i) REQUIRE(one.memory()[i] == 0);
  REQUIRE(other.join(address, kBytes));
  CHECK(other.memory() != one.memory());
  std::strcpy(one.memory() + HostSegment::kFront, "written");
  CHECK(std::string(other.memory() + HostSegment::kFront) == "written");
  CHECK(one.join(address, kBytes));  // it has the memory already
}

TEST_CASE("segment: an address of another size, or without the token, is none") {
  HostSegment one, other;
  const HostSegment::Address address = one.make(kBytes);
  CHECK_FALSE(other.join({address.segment, address.token + 1}, kBytes));
  CHECK_FALSE(other.is_attached());
  CHECK_FALSE(other.join(address, kBytes + 1));
  CHECK_FALSE(other.join({}, kBytes));
  CHECK_FALSE(other.join({-1, 1}, kBytes));
  CHECK(other.join(address, kBytes));
}

TEST_CASE("segment: more than the system gives is an empty address") {
  HostSegment one;
  const HostSegment::Address address = one.make(size_t{1} << 62);
  CHECK_FALSE(one.is_attached());
  CHECK(address.token == 0);
}

TEST_CASE("segment: it goes with the last object that has it") {
  HostSegment::Address address{};
  {
    HostSegment other;
    {
      HostSegment one;
      address = one.make(kBytes);
      REQUIRE(other.join(address, kBytes));
    }
    CHECK(exists(address.segment));
    CHECK_FALSE(HostSegment().join({address.segment, 1}, kBytes));
  }
  CHECK_FALSE(exists(address.segment));
}

TEST_CASE("segment: it goes with processes that are killed") {
  int channel[2];
  REQUIRE(pipe(channel) == 0);
  const pid_t child = fork();
  if (child == 0) {
    HostSegment own;
    const HostSegment::Address address = own.make(kBytes);
    const bool told = ::write(channel[1], &address, sizeof address) == sizeof address;
    for (; told;) pause();
    _exit(1);
  }
  HostSegment::Address address{};
  REQUIRE(read(channel[0], &address, sizeof address) == sizeof address);
  {
    HostSegment other;
    REQUIRE(other.join(address, kBytes));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CHECK(exists(address.segment));  // it is still in use here
    CHECK(other.memory()[HostSegment::kFront] == 0);
  }
  CHECK_FALSE(exists(address.segment));
  close(channel[0]);
  close(channel[1]);
}

TEST_CASE("host memory: a control group without room is named, and any group around it") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tilepost_groups_" + std::to_string(getpid()));
  const ControlGroups groups{folder / "root", folder / "own"};
  write(folder / "own", "0::/job/step");
  write(folder / "root/job/memory.max", "1048576");
  write(folder / "root/job/memory.current", "1000000");
  write(folder / "root/job/step/memory.max", "max");
  write(folder / "root/job/step/memory.current", "1000000");
  CHECK(why_no_room(48'576, groups).empty());
  CHECK_THAT(why_no_room(48'577, groups),
             Contains("/job (memory.max 1.0 MiB, of which 1.0 MiB are used)"));
  write(folder / "root/job/memory.max", "max");
  CHECK(why_no_room(int64_t{1} << 50, groups).empty());
  write(folder / "root/memory.max", "10");
  write(folder / "root/memory.current", "5");
  CHECK_THAT(why_no_room(6, groups), Contains("the control group / "));
  write(folder / "own", "4:memory:/old");  // version 1 has no such files
  CHECK(why_no_room(6, groups).empty());
  std::filesystem::remove_all(folder);
}

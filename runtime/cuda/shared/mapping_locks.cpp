#include "runtime/cuda/shared/mapping_locks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <random>
#include <string>
#include <utility>

#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {
namespace {

std::string name_of_token(int64_t token) {
  char name[64];
  std::snprintf(name, sizeof name, "/tilepost-%016" PRIx64, static_cast<uint64_t>(token));
  return name;
}

struct flock lock_of(short type, int first, int count) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return lock;
}

}  // namespace

MappingLocks::MappingLocks(MappingLocks&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

MappingLocks& MappingLocks::operator=(MappingLocks&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

MappingLocks::~MappingLocks() {
  if (file_ >= 0) close(file_);
}

int64_t MappingLocks::make() {
  std::random_device random;
  const auto token = static_cast<int64_t>((uint64_t{random()} << 32) | random() | 1);
  file_ = shm_open(name_of_token(token).c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  return file_ >= 0 ? token : 0;
}

bool MappingLocks::open(int64_t token) {
  if (token != 0) file_ = shm_open(name_of_token(token).c_str(), O_RDWR | O_CLOEXEC, 0);
  return file_ >= 0;
}

void MappingLocks::take_name_away(int64_t token) {
  if (token != 0) shm_unlink(name_of_token(token).c_str());
}

bool MappingLocks::hold(int owner, int importer) const {
  struct flock lock = lock_of(F_WRLCK, owner * kMostPeers + importer, 1);
  return fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

void MappingLocks::let_go(int owner, int importer) const {
  struct flock lock = lock_of(F_UNLCK, owner * kMostPeers + importer, 1);
  fcntl(file_, F_OFD_SETLK, &lock);
}

bool MappingLocks::is_held(int owner) const {
  struct flock lock = lock_of(F_WRLCK, owner * kMostPeers, kMostPeers);
  return fcntl(file_, F_OFD_SETLK, &lock) != 0;
}

}  // namespace tilepost::cuda

// Gives every rank the bytes that rank 0 has, by a TCP connection of each other rank to it.
#pragma once

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace share {

constexpr std::chrono::seconds kPatience{60};  // for ranks that start later
constexpr std::chrono::milliseconds kRetry{100};

class Socket {
 public:
  explicit Socket(int handle = -1) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(other.handle_) { other.handle_ = -1; }
  Socket& operator=(Socket&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Socket() {
    if (handle_ >= 0) close(handle_);
  }
  int get() const { return handle_; }

  // Returns false if the handle does not become readable, or the other side has gone.
  bool receive(void* to, size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
      pollfd wait{handle_, POLLIN, 0};
      const int ready = poll(&wait, 1, static_cast<int>(kPatience.count()) * 1000);
      const ssize_t came = ready > 0 ? recv(handle_, at, bytes, 0) : 0;
      if (came <= 0) return false;
      at += came;
      bytes -= static_cast<size_t>(came);
    }
    return true;
  }
  bool send(const void* from, size_t bytes) const {
    for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t went = ::send(handle_, at, bytes, MSG_NOSIGNAL);
      if (went <= 0) return false;
      at += went;
      bytes -= static_cast<size_t>(went);
    }
    return true;
  }

 private:
  int handle_;
};

// A socket at rank 0's address: one that listens there, or one that is connected to it. Without a
// handle if that failed.
inline Socket open_at(const std::string& host, int port, bool listens) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return Socket();
  Socket made;
  for (const addrinfo* entry = found; entry != nullptr && made.get() < 0; entry = entry->ai_next) {
    Socket tried(socket(entry->ai_family, entry->ai_socktype, entry->ai_protocol));
    const int on = 1;
    setsockopt(tried.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const int result = listens ? bind(tried.get(), entry->ai_addr, entry->ai_addrlen)
                               : connect(tried.get(), entry->ai_addr, entry->ai_addrlen);
    if (result == 0 && (!listens || listen(tried.get(), SOMAXCONN) == 0)) made = std::move(tried);
  }
  freeaddrinfo(found);
  return made;
}

// To each other rank, once. Whoever connects says first which rank it is.
template <class Bytes>
std::string give(int world, const std::string& host, int port, const Bytes& bytes) {
  const Socket door = open_at(host, port, true);
  if (door.get() < 0)
    return "cannot listen at " + host + ", port " + std::to_string(port) + ": " +
           std::strerror(errno);
  std::vector<bool> served(static_cast<size_t>(world));
  for (int left = world - 1; left > 0;) {
    pollfd wait{door.get(), POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(kPatience.count()) * 1000) <= 0)
      return std::to_string(left) + " ranks did not connect within " +
             std::to_string(kPatience.count()) + " s";
    const Socket other(accept(door.get(), nullptr, nullptr));
    int32_t rank = 0;
    const bool known = other.receive(&rank, sizeof rank) && rank > 0 && rank < world;
    if (!known || served[rank] || !other.send(&bytes, sizeof bytes)) continue;
    served[rank] = true;
    --left;
  }
  return {};
}

// From rank 0, which may not be there yet.
template <class Bytes>
std::string take(int rank, const std::string& host, int port, Bytes& bytes) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const auto said = static_cast<int32_t>(rank);
  for (;;) {
    const Socket rank_0 = open_at(host, port, false);
    if (rank_0.get() >= 0 && rank_0.send(&said, sizeof said) &&
        rank_0.receive(&bytes, sizeof bytes))
      return {};
    if (std::chrono::steady_clock::now() > end)
      return "rank 0 did not answer at " + host + ", port " + std::to_string(port);
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace share

// Returns what went wrong; nothing if all is well. Every rank calls it, with rank 0's host.
template <class Bytes>
std::string share_id(int rank, int world, const std::string& host, int port, Bytes& bytes) {
  return rank == 0 ? share::give(world, host, port, bytes) : share::take(rank, host, port, bytes);
}

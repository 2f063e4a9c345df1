// The order of logged calls, whichever streams they are on. A stream keeps its order, and events
// carry the order from one stream to another.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace order {

// The order of the calls that were logged since world().reset_calls().
class Order {
 public:
  Order();

  // How many calls begin with `call`, for example "sum".
  int count(const std::string& call) const { return static_cast<int>(all(call).size()); }
  // Whether the nth call named `call` has ended before the mth named `other` begins.
  bool before(const std::string& call, int n, const std::string& other, int m) const;
  // Whether all calls named `call` have ended before any call named `other` begins.
  bool all_before(const std::string& call, const std::string& other) const;
  // Whether all calls named `call` come before whatever the user's stream gets next.
  bool joined(const std::string& call) const;
  // Whether all calls logged from line `from` on come behind everything that the user's stream has
  // followed, GEMMs excepted: streams follow these by counters. none_behind_user(): whether no such
  // call comes behind anything that the user's stream has followed.
  bool all_behind_user(size_t from) const;
  bool none_behind_user(size_t from) const;

 private:
  struct Call {
    std::string line;
    size_t logged;
    std::set<size_t> past;
  };
  std::vector<size_t> all(const std::string& call) const;

  std::vector<Call> calls_;
  std::set<size_t> user_past_;
};

}  // namespace order

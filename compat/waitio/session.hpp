// The state of a process between waitio_init and waitio_finalize: the universe that it has joined, its groups and its
// requests. There is one in a process, as the interface requires. The functions of waitio.h, waitio_mpi.h and of
// Fortran call it; it calls Couplet's C interface, meeting and report.
// Invariants: a group is a set of ranks, so that the same set is the same group; a request lives in 22 ints, which name
// an entry and its generation here, and never an address.
// Tests: tests/compat/waitio.
#pragma once

#include <couplet/couplet.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "meeting.hpp"
#include "report.hpp"
#include "waitio.h"

// What a waitio_group_t points to.
struct waitio_group_ {
  couplet_group* group = nullptr;
  int rank = -1;
  int size = 0;
  int number = 0;  // as which Fortran knows it, from 1
};

namespace waitio {

class Session {
 public:
  Session() = default;
  void finalize(const char* function) { meeting_.leave(function); }

  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }
  [[nodiscard]] int block_count() const noexcept { return static_cast<int>(meeting_.blocks().size()); }

  // ---- groups ----
  // Returns the group of these ranks of Couplet's universe. No message is sent.
  waitio_group_t make_group(const std::vector<std::int32_t>& ranks);
  waitio_group_t make_universe();
  waitio_group_t make_heads();
  waitio_group_t make_block(int block);
  // Returns the group of a handle of C, or of a number of Fortran. Throws Error if there is none.
  [[nodiscard]] waitio_group_& group(waitio_group_t handle) const;
  [[nodiscard]] waitio_group_t numbered(int number) const;

  // ---- requests ----
  // Writes the request's 22 ints.
  void keep(couplet_request* request, bool receives, waitio_req_t* into);
  // Waits for a request.
  void wait(waitio_req_t& request);
  // Waits for all requests. What is wrong with one does not keep the others from completing. Throws the first error.
  void wait_all(int count, waitio_req_t* requests, int* statuses);

 private:
  struct Slot {
    couplet_request* request = nullptr;
    std::uint32_t generation = 0;
    bool used = false;
    bool receives = false;
  };
  Slot take(waitio_req_t& request);

  Meeting meeting_;
  std::map<std::vector<std::int32_t>, std::unique_ptr<waitio_group_>> groups_;
  std::vector<waitio_group_t> numbered_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

// Returns the session of this process. It is empty before init and after finalize.
[[nodiscard]] std::unique_ptr<Session>& current_session() noexcept;
// Returns the session. Throws Error if there is none.
Session& require_session();
// Ends the session, also if that fails.
void end_session(const char* function);
// Joins, if this process has not done so yet.
Session& start_session();

}  // namespace waitio

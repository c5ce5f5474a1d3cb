// The state of a process between init and finalize: its role, the universe that it has joined, and the tasks and areas
// that carry CoToCoA's requests and areas. There is one in a process, as the interface (functions without a handle,
// CTCA_subcomm) requires. The functions of ctca.h call it through enter(); it calls Couplet's C interface, launch,
// profile and report.
// Invariants: every wait sleeps in Couplet, none in MPI; every collective step goes through the first requester rank,
// which so knows which rank is missing; a process that ends without finalize is an error at all others.
// Tests: tests/compat/cotocoa.
#pragma once

#include <couplet/couplet.h>
#include <mpi.h>

#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "launch.hpp"
#include "profile.hpp"
#include "report.hpp"

namespace ctca {

class Buffer;

// The collective steps. If two ranks are in different ones, the mistake can be named.
enum class Together : std::int32_t { register_area = 1, make_buffer, free_buffer, finalize };
[[nodiscard]] const char* together_name(Together what) noexcept;

struct UniverseProgram {
  std::string name;
  Role role = Role::requester;
  int id = 0;
  int group_size = 1;
  int first_rank = 0;
  int size = 0;
};

// Integer parameters and data, as the functions of ctca.h take them.
struct Letter {
  const int* parameters = nullptr;
  int parameter_count = 0;
  const void* data = nullptr;
  std::size_t data_count = 0;
  couplet_type type = COUPLET_BYTE;
};

class Session {
 public:
  Session(const char* function, Role role, int id, int group_size);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  // Ends the session. Collective over all ranks of all roles.
  void finalize(const char* function);

  [[nodiscard]] Role role() const noexcept { return static_cast<Role>(self_.role); }
  [[nodiscard]] couplet_universe* universe() const noexcept { return universe_; }
  [[nodiscard]] couplet_tasks* tasks() const noexcept { return tasks_; }
  [[nodiscard]] MPI_Comm program_comm() const noexcept { return program_comm_; }
  [[nodiscard]] const UniverseProgram& requester() const noexcept { return programs_[requester_]; }
  [[nodiscard]] const UniverseProgram& own_program() const noexcept { return programs_[own_]; }
  [[nodiscard]] const std::vector<UniverseProgram>& programs() const noexcept { return programs_; }
  [[nodiscard]] int program_rank() const noexcept { return program_rank_; }
  // Says whether this rank is the root: the rank through which every collective step goes.
  [[nodiscard]] bool root() const noexcept { return universe_rank_ == requester().first_rank; }
  [[nodiscard]] double patience_s() const noexcept { return patience_s_; }
  [[nodiscard]] Profile& profile() noexcept { return profile_; }

  // Gathers the records of all ranks at the root, in the order of universe ranks; elsewhere the result is empty.
  // Records of workers that are lost without an error (on_lost retry) are zero. Collective.
  template <typename Record>
  std::vector<Record> collect(const char* function, Together what, const Record& own);
  // Gives the root's record to all ranks. Collective.
  template <typename Record>
  Record spread(const char* function, const Record& of_root);

  // ---- requester ----
  void send_request(const char* function, const Letter& letter, std::int64_t* handle);
  void wait(const char* function, std::int64_t handle);
  bool test(const char* function, std::int64_t handle);
  // ---- coupler ----
  void poll_as_coupler(const char* function, int* info, int* source, const Letter& wanted);
  void enqueue(const char* function, const int* info, int worker, const Letter& letter);
  // ---- worker ----
  void poll_as_worker(const char* function, int* source, const Letter& wanted);
  void complete(const char* function);
  // ---- coupler and worker ----
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  // ---- areas (areas.cpp) ----
  int register_area(const char* function, couplet_type type, void* base, std::size_t count);
  void move_area(const char* function, bool writing, couplet_type type, int area, int rank, std::size_t offset,
                 std::size_t count, void* data);

  // ---- buffer (buffer.cpp) ----
  std::unique_ptr<Buffer> buffer;
  int buffers_made = 0;

 private:
  struct Area {
    couplet_type type = COUPLET_BYTE;
    std::vector<couplet_area*> of_rank;  // requester: only its own area
  };

  struct Handle {
    couplet_task* task = nullptr;
    std::int64_t request = 0;  // its number among this rank's requests
  };

  void split(const char* function);
  void join(const char* function);
  void learn_roles(const char* function);
  void open_tasks(const char* function);
  void name_self();
  [[nodiscard]] std::string names_of(Role role) const;
  [[nodiscard]] std::string describe(int universe_rank) const;
  [[nodiscard]] bool missed(int universe_rank) const;
  [[nodiscard]] std::vector<int> ranks_of(Role role) const;
  void gather_records(const char* function, Together what, std::span<const std::byte> own, std::span<std::byte> all);
  void spread_record(const char* function, std::span<std::byte> record);
  couplet_status wait_for(const char* function, couplet_request** request, double first_s);
  void await_record(const char* function, couplet_request** request, int source);
  void make_poll_counts(const char* function);
  void check_polled(const char* function, std::int64_t request);
  void say_closing(const char* function, Role to);
  void await_closing(const char* function, Role from);
  void end_polling(const char* function);
  void close_tasks(const char* function);
  [[nodiscard]] Handle* find_handle(std::int64_t handle);
  std::int64_t task_id(const char* function, const int* info) const;
  void give_letter(const char* function, const couplet_task_info& info, int* source, const Letter& wanted);

  Self self_;
  Launch launch_;
  Profile profile_;
  bool own_mpi_ = false;
  MPI_Comm program_comm_ = MPI_COMM_NULL;
  int program_rank_ = 0;
  double patience_s_ = 600;
  int retry_ = 0;  // 1: a lost worker's requests are done by others
  couplet_universe* universe_ = nullptr;
  couplet_group* everyone_ = nullptr;
  int universe_rank_ = 0;
  int universe_size_ = 0;
  std::vector<UniverseProgram> programs_;
  std::size_t own_ = 0;
  std::size_t requester_ = 0;
  couplet_tasks* tasks_ = nullptr;
  std::map<std::int64_t, Handle> handles_;
  std::int64_t next_handle_ = 1;  // many programs use 0 for no handle
  std::int64_t requests_sent_ = 0;
  // An area of each coupler rank, which counts the polled requests of each requester rank.
  std::vector<couplet_area*> poll_counts_;
  std::int64_t* own_poll_counts_ = nullptr;
  std::set<std::int64_t> in_hand_;  // coupler: requests that were polled and not enqueued
  std::vector<Area> areas_;
  bool finished_ = false;
  bool said_closing_ = false;
};

template <typename Record>
std::vector<Record> Session::collect(const char* function, Together what, const Record& own) {
  static_assert(std::is_trivially_copyable_v<Record>);
  std::vector<Record> all(root() ? static_cast<std::size_t>(universe_size_) : 0);
  gather_records(function, what, std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

template <typename Record>
Record Session::spread(const char* function, const Record& of_root) {
  static_assert(std::is_trivially_copyable_v<Record>);
  Record record = of_root;
  spread_record(function, std::as_writable_bytes(std::span(&record, 1)));
  return record;
}

// Returns the session of this process. It is empty before init and after finalize.
[[nodiscard]] std::unique_ptr<Session>& current_session() noexcept;
void require_session(const char* function, Role role);
int start_session(const char* function, Role role, int id, int group_size) noexcept;
int end_session(const char* function, Role role) noexcept;

// Runs the body of a function of ctca.h in the right role, and measures it if the program asks for that. Nothing is
// thrown: an error ends the program. Returns the result of the body, or 0.
template <typename Body>
int enter(const char* function, Role role, Cost cost, Body&& body) noexcept {
  try {
    require_session(function, role);
    Session& session = *current_session();
    const auto since = session.profile().measuring() ? Profile::Clock::now() : Profile::Clock::time_point();
    int result = 0;
    if constexpr (std::is_void_v<decltype(body(session))>) {
      body(session);
    } else {
      result = body(session);
    }
    if (since != Profile::Clock::time_point()) {
      session.profile().count(cost, Profile::Clock::now() - since);
    }
    return result;
  } catch (const std::bad_alloc&) {
    fatal(function, "no memory");
  } catch (const std::exception& error) {
    fatal(function, error.what());
  }
}

// The arguments of X: the name in ctca.h, the C type, Couplet's type.
#define CTCA_FOR_EACH_TYPE_(X)   \
  X(int, int, COUPLET_INT32)     \
  X(real4, float, COUPLET_FLOAT) \
  X(real8, double, COUPLET_DOUBLE)

}  // namespace ctca

// Who is in this MPI job, and where its hub is. In one MPMD job the first rank starts the hub, whose secret travels over
// MPI_COMM_WORLD and is in no file; where COUPLET_HUB is set, the job is one of several and joins that one.
// Above: session. Below: MPI, the program couplet-hub.
// Invariants: the hub ends when the universe is over, and when its starter is gone in whatever way. Tests: tests/compat/cotocoa.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace ctca {

enum class Role : int { requester = 0, coupler = 1, worker = 2 };
[[nodiscard]] const char* role_name(Role role) noexcept;

// What a process says of itself at init.
struct Self {
  int role = 0;
  int id = 0;          // worker: its program id
  int group_size = 0;  // worker: procspercomm
};

// A program of this MPI job: all its ranks that said the same.
struct JobProgram {
  Role role = Role::requester;
  int id = 0;
  int group_size = 1;
  int size = 0;
  int first_world_rank = 0;
  [[nodiscard]] std::string name() const;  // by which the hub knows it
};

// A descriptor that closes itself.
class OwnedDescriptor {
 public:
  OwnedDescriptor() = default;
  explicit OwnedDescriptor(int number) : number_(number) {}
  ~OwnedDescriptor() { reset(); }
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept {
    reset();
    number_ = other.number_;
    other.number_ = -1;
    return *this;
  }
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  [[nodiscard]] int number() const noexcept { return number_; }
  void reset() noexcept;

 private:
  int number_ = -1;
};

class Launch {
 public:
  // Collective over MPI_COMM_WORLD: the programs of this job in the order requester, coupler, workers by id.
  void meet(const char* function, const Self& self);
  // Collective: the universe's hub and secret, for couplet_join; empty where the environment says them.
  void find_hub(const char* function);
  // The first rank: until the hub, if this process has started one, has found the universe over.
  void end_hub();

  [[nodiscard]] const std::vector<JobProgram>& programs() const noexcept { return programs_; }
  [[nodiscard]] std::size_t own_program() const noexcept { return own_; }
  [[nodiscard]] const std::string& hub() const noexcept { return hub_; }
  [[nodiscard]] std::string secret_file() const;
  // Under which name to join.
  [[nodiscard]] std::string join_name() const;

 private:
  void check_programs(const char* function) const;
  void object(const char* function, const JobProgram& program, const std::string& text) const;
  void start_hub(const char* function, bool one_host);
  void keep_secret(const char* function, const char* digits);

  int world_rank_ = 0;
  std::vector<JobProgram> programs_;
  std::size_t own_ = 0;
  std::string hub_;
  OwnedDescriptor secret_;    // memory that holds it
  OwnedDescriptor lifeline_;  // the hub's standard input: it ends when this does
  OwnedDescriptor hub_output_;
  pid_t hub_process_ = 0;
};

}  // namespace ctca

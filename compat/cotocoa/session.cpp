#include "session.hpp"

#include <couplet/couplet_mpi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "buffer.hpp"
#include "ctca.h"

MPI_Comm CTCA_subcomm = MPI_COMM_NULL;  // NOLINT: required by the interface

namespace ctca {
namespace {

constexpr std::int32_t tag_collect = 1;
constexpr std::int32_t tag_spread = 2;
constexpr std::int32_t tag_roles = 3;
constexpr std::int32_t tag_closing = 4;
constexpr std::size_t most_record_bytes = 1024;
constexpr double remark_after_s = 60;
constexpr double roles_within_s = 60;

// The version of the records, and of the order in which they are exchanged.
constexpr std::int32_t protocol = 1;

struct RoleRecord {
  std::int32_t version = 0;
  std::int32_t role = 0;
  std::int32_t id = 0;
  std::int32_t group_size = 0;
  std::int32_t retry = 0;
};

double patience(const char* function) {
  const char* text = std::getenv("COUPLET_COTOCOA_TIMEOUT");
  if (text == nullptr || *text == '\0') {
    return 600;
  }
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0') {
    fatal(function, fmt::format("COUPLET_COTOCOA_TIMEOUT is '{}', expected a number of seconds", text));
  }
  return seconds;
}

int retry_wanted(const char* function) {
  const char* value = std::getenv("COUPLET_COTOCOA_ON_LOST");
  const std::string text = value == nullptr ? "" : value;
  if (!text.empty() && text != "fail" && text != "retry") {
    fatal(function, fmt::format("COUPLET_COTOCOA_ON_LOST is '{}'; it has to be fail or retry", text));
  }
  return text == "retry" ? 1 : 0;
}

}  // namespace

const char* together_name(Together what) noexcept {
  switch (what) {
    case Together::register_area:
      return "the registration of an area";
    case Together::make_buffer:
      return "the init of the buffer";
    case Together::free_buffer:
      return "the end of the buffer";
    case Together::finalize:
      break;
  }
  return "finalize";
}

// ---- init ----

Session::Session(const char* function, Role role, int id, int group_size)
    : self_{static_cast<int>(role), id, group_size}, patience_s_(patience(function)), retry_(retry_wanted(function)) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    check_mpi(function, MPI_Init(nullptr, nullptr));
    own_mpi_ = true;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  call_self(fmt::format("CoToCoA {}, rank {} of its launch", role_name(role), rank));
  launch_.meet(function, self_);
  split(function);
  launch_.find_hub(function);
  join(function);
  learn_roles(function);
  open_tasks(function);
}

Session::~Session() = default;

void Session::split(const char* function) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  check_mpi(function, MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(launch_.own_program()), rank, &program_comm_));
  MPI_Comm_rank(program_comm_, &program_rank_);
  const int group = role() == Role::worker ? program_rank_ / self_.group_size : 0;
  check_mpi(function, MPI_Comm_split(program_comm_, group, program_rank_, &CTCA_subcomm));
  name_self();
}

void Session::name_self() {
  const std::string id = role() == Role::worker ? fmt::format(" {}", self_.id) : "";
  call_self(fmt::format("CoToCoA {}{}, rank {}", role_name(role()), id, program_rank_));
}

void Session::join(const char* function) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  const std::string hub = launch_.hub();
  const std::string secret = launch_.secret_file();
  options.hub = hub.empty() ? nullptr : hub.c_str();
  options.secret_file = secret.empty() ? nullptr : secret.c_str();
  check(function, couplet_join_mpi(launch_.join_name().c_str(), program_comm_, &options, &universe_));
  check(function, couplet_universe_group(universe_, &everyone_));
  check(function, couplet_universe_rank(universe_, &universe_rank_, &universe_size_));
}

// Exchanges the roles: the first rank of each program tells the first ranks of all other programs.
void Session::learn_roles(const char* function) {
  std::int32_t count = 0;
  std::int32_t own = 0;
  check(function, couplet_universe_program(universe_, &count, &own, nullptr, nullptr));
  own_ = static_cast<std::size_t>(own);
  for (std::int32_t index = 0; index < count; ++index) {
    const char* name = nullptr;
    UniverseProgram& program = programs_.emplace_back();
    check(function, couplet_universe_describe_program(universe_, index, &name, &program.size, &program.first_rank));
    program.name = name;
  }
  std::vector<RoleRecord> roles(programs_.size());
  roles[own_] = {protocol, self_.role, self_.id, self_.group_size, retry_};
  if (program_rank_ == 0) {
    for (std::size_t other = 0; other < programs_.size(); ++other) {
      if (other != own_) {
        check(function, couplet_send(everyone_, &roles[own_], sizeof(RoleRecord), COUPLET_BYTE,
                                     programs_[other].first_rank, tag_roles));
      }
    }
    for (std::size_t other = 0; other < programs_.size(); ++other) {
      couplet_request* request = nullptr;
      if (other == own_) {
        continue;
      }
      check(function, couplet_irecv(everyone_, &roles[other], sizeof(RoleRecord), COUPLET_BYTE,
                                    programs_[other].first_rank, tag_roles, &request));
      const couplet_status status = couplet_wait(&request, roles_within_s, nullptr);
      if (status == COUPLET_ERROR_TIMEOUT) {
        fatal(function, fmt::format("program '{}' has called none of CTCAR_init, CTCAC_init and CTCAW_init within {} s",
                                    programs_[other].name, roles_within_s));
      }
      check(function, status);
    }
  }
  check_mpi(function,
            MPI_Bcast(roles.data(), static_cast<int>(roles.size() * sizeof(RoleRecord)), MPI_BYTE, 0, program_comm_));
  std::size_t requesters = 0;
  std::size_t couplers = 0;
  for (std::size_t index = 0; index < programs_.size(); ++index) {
    if (roles[index].version != protocol) {
      fatal(function, fmt::format("program '{}' uses another version of libctca", programs_[index].name));
    }
    programs_[index].role = static_cast<Role>(roles[index].role);
    programs_[index].id = roles[index].id;
    programs_[index].group_size = roles[index].group_size;
    if (programs_[index].role == Role::requester) {
      requester_ = index;
      ++requesters;
    } else if (programs_[index].role == Role::coupler) {
      retry_ = roles[index].retry;
      ++couplers;
    }
  }
  if (requesters != 1 || couplers != 1) {
    fatal(function, fmt::format("there are {} requester and {} coupler programs; it has to be one of each", requesters,
                                couplers));
  }
}

std::string Session::names_of(Role role) const {
  std::string names;
  for (const auto& program : programs_) {
    if (program.role == role) {
      names += (names.empty() ? "" : ",") + program.name;
    }
  }
  return names;
}

std::vector<int> Session::ranks_of(Role role) const {
  std::vector<int> ranks;
  for (const auto& program : programs_) {
    for (int rank = 0; program.role == role && rank < program.size; ++rank) {
      ranks.push_back(program.first_rank + rank);
    }
  }
  return ranks;
}

std::string Session::describe(int universe_rank) const {
  for (const auto& program : programs_) {
    if (universe_rank >= program.first_rank && universe_rank < program.first_rank + program.size) {
      const std::string id = program.role == Role::worker ? fmt::format(" {}", program.id) : "";
      return fmt::format("{}{} rank {}", role_name(program.role), id, universe_rank - program.first_rank);
    }
  }
  return fmt::format("rank {} of the universe", universe_rank);
}

void Session::open_tasks(const char* function) {
  const std::string requesters = names_of(Role::requester);
  const std::string couplers = names_of(Role::coupler);
  const std::string workers = names_of(Role::worker);
  couplet_tasks_options options;
  couplet_tasks_options_init(&options);
  options.couplers = couplers.c_str();
  if (role() == Role::requester) {
    options.role = COUPLET_TASKS_REQUESTER;
  } else if (role() == Role::worker) {
    options.role = COUPLET_TASKS_WORKER;
    options.worker_id = self_.id;
    options.group_size = self_.group_size;
  } else {
    options.role = COUPLET_TASKS_COUPLER;
    options.requesters = requesters.c_str();
    options.workers = workers.empty() ? nullptr : workers.c_str();
    options.on_lost = retry_ != 0 ? COUPLET_TASKS_RETRY : COUPLET_TASKS_FAIL;
  }
  check(function, couplet_tasks_open(universe_, "cotocoa", &options, &tasks_));
  if (role() == Role::coupler) {
    make_poll_counts(function);
  }
}

// ---- collective steps ----

// Says whether the loss of that rank is an error.
bool Session::missed(int universe_rank) const {
  const auto lost = ranks_of(Role::worker);
  return retry_ == 0 || std::find(lost.begin(), lost.end(), universe_rank) == lost.end();
}

// Waits at most that long (< 0: for ever). A requester checks from time to time whether its requests are polled at all.
couplet_status Session::wait_for(const char* function, couplet_request** request, double first_s) {
  for (double waited_s = 0;;) {
    const bool last = first_s >= 0 && (patience_s_ < 0 || first_s - waited_s <= patience_s_);
    const double part_s = last ? first_s - waited_s : patience_s_;
    const couplet_status status = couplet_wait(request, part_s, nullptr);
    if (status != COUPLET_ERROR_TIMEOUT || last) {
      return status;
    }
    waited_s += part_s;
    if (role() == Role::requester && requests_sent_ > 0) {
      check_polled(function, requests_sent_ - 1);
    }
  }
}

void Session::await_record(const char* function, couplet_request** request, int source) {
  couplet_status status = wait_for(function, request, remark_after_s);
  if (status == COUPLET_ERROR_TIMEOUT) {
    remark(function, fmt::format("is still waiting for {}, which has not made the call that belongs to this one",
                                 describe(source)));
    status = wait_for(function, request, -1);
  }
  if (status != COUPLET_ERROR_PEER_LOST || missed(source)) {
    check(function, status);
  }
}

void Session::gather_records(const char* function, Together what, std::span<const std::byte> own,
                             std::span<std::byte> all) {
  const auto kind = static_cast<std::int32_t>(what);
  std::vector<std::byte> message(sizeof kind + own.size());
  std::memcpy(message.data(), &kind, sizeof kind);
  std::memcpy(message.data() + sizeof kind, own.data(), own.size());
  if (!root()) {
    check(function,
          couplet_send(everyone_, message.data(), message.size(), COUPLET_BYTE, requester().first_rank, tag_collect));
    return;
  }
  const auto count = static_cast<std::size_t>(universe_size_);
  std::vector<std::byte> arrived(count * most_record_bytes);
  std::vector<couplet_request*> requests(count, nullptr);
  for (int source = 0; source < universe_size_; ++source) {
    const auto index = static_cast<std::size_t>(source);
    if (source != universe_rank_) {
      check(function, couplet_irecv(everyone_, &arrived[index * most_record_bytes], most_record_bytes, COUPLET_BYTE,
                                    source, tag_collect, &requests[index]));
    }
  }
  std::copy(message.begin(), message.end(), &arrived[static_cast<std::size_t>(universe_rank_) * most_record_bytes]);
  for (int source = 0; source < universe_size_; ++source) {
    const auto index = static_cast<std::size_t>(source);
    await_record(function, &requests[index], source);
    std::int32_t said = 0;
    std::memcpy(&said, &arrived[index * most_record_bytes], sizeof said);
    if (said != kind && said != 0) {
      fatal(function, fmt::format("{} is in {} while this program is in {}: all have to call these in the same order",
                                  describe(source), together_name(static_cast<Together>(said)), together_name(what)));
    }
    std::memcpy(&all[index * own.size()], &arrived[index * most_record_bytes + sizeof said], own.size());
  }
}

void Session::spread_record(const char* function, std::span<std::byte> record) {
  if (!root()) {
    couplet_request* request = nullptr;
    check(function, couplet_irecv(everyone_, record.data(), record.size(), COUPLET_BYTE, requester().first_rank,
                                  tag_spread, &request));
    check(function, wait_for(function, &request, -1));
    return;
  }
  for (int target = 0; target < universe_size_; ++target) {
    if (target != universe_rank_) {
      const couplet_status status =
          couplet_send(everyone_, record.data(), record.size(), COUPLET_BYTE, target, tag_spread);
      if (status != COUPLET_ERROR_PEER_LOST || missed(target)) {
        check(function, status);
      }
    }
  }
}

// ---- finalize ----

// Tells the other role that nothing further comes, and that this is not an accident.
void Session::say_closing(const char* function, Role to) {
  if (said_closing_) {
    return;
  }
  said_closing_ = true;
  const char nothing = 0;
  for (const int target : ranks_of(to)) {
    const couplet_status status = couplet_send(everyone_, &nothing, 1, COUPLET_BYTE, target, tag_closing);
    if (status != COUPLET_ERROR_PEER_LOST || missed(target)) {
      check(function, status);
    }
  }
}

void Session::await_closing(const char* function, Role from) {
  for (const int source : ranks_of(from)) {
    char nothing = 0;
    check(function, couplet_recv(everyone_, &nothing, 1, COUPLET_BYTE, source, tag_closing, nullptr));
  }
}

void Session::finalize(const char* function) {
  if (buffer) {
    buffer->close(function);
    buffer.reset();
  }
  if (role() == Role::requester) {
    say_closing(function, Role::coupler);
  } else if (role() == Role::coupler) {
    say_closing(function, Role::worker);
  }
  check(function, couplet_tasks_close(tasks_));
  ProfileRow row = profile_.row();
  row.role = self_.role;
  row.program_id = self_.id;
  row.rank = program_rank_;
  const auto rows = collect(function, Together::finalize, row);
  if (const std::string table = root() ? profile_table(rows) : ""; !table.empty()) {
    std::fputs(table.c_str(), stdout);
    std::fflush(stdout);
  }
  spread(function, 0);
  check(function, couplet_leave(universe_));
  launch_.end_hub();
  MPI_Comm_free(&CTCA_subcomm);
  MPI_Comm_free(&program_comm_);
  if (own_mpi_) {
    check_mpi(function, MPI_Finalize());
  }
}

// ---- the session of this process ----

std::unique_ptr<Session>& current_session() noexcept {
  static std::unique_ptr<Session> session;
  return session;
}

void require_session(const char* function, Role role) {
  const auto& session = current_session();
  if (!session) {
    fatal(function, "is called before init, or after finalize");
  }
  if (session->role() != role) {
    fatal(function, fmt::format("is a function of the {}, and this process is a {}", role_name(role),
                                role_name(session->role())));
  }
}

int start_session(const char* function, Role role, int id, int group_size) noexcept {
  try {
    if (current_session()) {
      fatal(function, "init was called already");
    }
    current_session() = std::make_unique<Session>(function, role, id, group_size);
    return 0;
  } catch (const std::exception& error) {
    fatal(function, error.what());
  }
}

int end_session(const char* function, Role role) noexcept {
  try {
    require_session(function, role);
    current_session()->finalize(function);
    current_session().reset();
    return 0;
  } catch (const std::exception& error) {
    fatal(function, error.what());
  }
}

}  // namespace ctca

#include "launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "capi/private.h"
#include "report.hpp"

extern char** environ;  // NOLINT: POSIX does not declare it

namespace ctca {
namespace {

constexpr std::size_t secret_digits = 64;
constexpr int secret_in_child = 3;
constexpr int hub_start_ms = 20'000;

// The record that the first rank sends to all others.
struct Meeting {
  std::array<char, 256> hub{};
  std::array<char, secret_digits + 1> secret{};
};

bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::string system_text(const char* what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

// Says whether all ranks run on the host of the first rank.
bool on_one_host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  std::array<char, MPI_MAX_PROCESSOR_NAME> first = own;
  MPI_Bcast(first.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  int same = std::strncmp(own.data(), first.data(), MPI_MAX_PROCESSOR_NAME) == 0 ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

std::string make_secret(const char* function) {
  std::array<unsigned char, secret_digits / 2> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    fatal(function, system_text("no random numbers for the secret of this run"));
  }
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += fmt::format("{:02x}", byte);
  }
  return digits;
}

// Reads the line COUPLET_HUB=host:port that the hub prints when it listens. Returns "" if it printed something else, or
// nothing.
std::string read_address(int descriptor) {
  constexpr std::string_view expected = "COUPLET_HUB=";
  std::string said;
  pollfd ready{descriptor, POLLIN, 0};
  while (said.find('\n') == std::string::npos && ::poll(&ready, 1, hub_start_ms) > 0) {
    std::array<char, 256> part{};
    const ssize_t count = ::read(descriptor, part.data(), part.size());
    if (count <= 0) {
      break;
    }
    said.append(part.data(), static_cast<std::size_t>(count));
  }
  const std::string line = said.substr(0, said.find('\n'));
  return line.starts_with(expected) && line.size() < said.size() ? line.substr(expected.size()) : "";
}

// Sets up standard input, standard output and the memory of the secret for the child. No other descriptor stays open
// there.
class Spawning {
 public:
  Spawning(int input, int output, int secret) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_adddup2(&actions_, input, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    posix_spawn_file_actions_adddup2(&actions_, secret, secret_in_child);
    posix_spawn_file_actions_addclosefrom_np(&actions_, secret_in_child + 1);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // The hub gets a session of its own, so that a launcher which kills the ranks leaves it the time to clean up.
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~Spawning() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  int run(const std::string& path, const std::vector<std::string>& arguments, pid_t* process) const {
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (const auto& argument : arguments) {
      words.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: posix_spawn does not change them
    }
    words.push_back(nullptr);
    return ::posix_spawn(process, path.c_str(), &actions_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

struct Pipe {
  OwnedDescriptor read_end;
  OwnedDescriptor write_end;
};

// Makes a pipe, both ends of which have numbers above those that the child is given.
Pipe make_pipe(const char* function) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    fatal(function, system_text("no pipe to the hub"));
  }
  Pipe pipe{OwnedDescriptor(::fcntl(ends[0], F_DUPFD_CLOEXEC, secret_in_child + 1)),
            OwnedDescriptor(::fcntl(ends[1], F_DUPFD_CLOEXEC, secret_in_child + 1))};
  ::close(ends[0]);
  ::close(ends[1]);
  return pipe;
}

}  // namespace

const char* role_name(Role role) noexcept {
  return role == Role::requester ? "requester" : role == Role::coupler ? "coupler" : "worker";
}

void OwnedDescriptor::reset() noexcept {
  if (number_ >= 0) {
    ::close(number_);
  }
  number_ = -1;
}

std::string JobProgram::name() const {
  return role == Role::worker ? fmt::format("worker{}", id) : role_name(role);
}

void Launch::meet(const char* function, const Self& self) {
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<Self> all(static_cast<std::size_t>(size));
  static_assert(sizeof(Self) == 3 * sizeof(int));
  check_mpi(function, MPI_Allgather(&self, 3, MPI_INT, all.data(), 3, MPI_INT, MPI_COMM_WORLD));
  const auto same = [](const JobProgram& program, const Self& one) {
    return static_cast<int>(program.role) == one.role && program.id == one.id;
  };
  for (int rank = 0; rank < size; ++rank) {
    const Self& one = all[static_cast<std::size_t>(rank)];
    auto found = std::find_if(programs_.begin(), programs_.end(), [&](const auto& each) { return same(each, one); });
    if (found == programs_.end()) {
      programs_.push_back({static_cast<Role>(one.role), one.id, one.group_size, 0, rank});
      found = programs_.end() - 1;
    } else if (found->group_size != one.group_size) {
      object(function, *found,
             fmt::format("its ranks differ in procspercomm: {} and {}", found->group_size, one.group_size));
    }
    ++found->size;
  }
  std::sort(programs_.begin(), programs_.end(), [](const JobProgram& left, const JobProgram& right) {
    return std::pair(left.role, left.id) < std::pair(right.role, right.id);
  });
  own_ = static_cast<std::size_t>(
      std::find_if(programs_.begin(), programs_.end(), [&](const auto& each) { return same(each, self); }) -
      programs_.begin());
  check_programs(function);
}

void Launch::check_programs(const char* function) const {
  for (const auto& program : programs_) {
    if (program.id < 0) {
      object(function, program, fmt::format("{} is no program id: it has to be 0 or more", program.id));
    }
    if (program.group_size < 1 || program.size % program.group_size != 0) {
      object(function, program,
             fmt::format("its {} ranks do not make groups of procspercomm = {}", program.size, program.group_size));
    }
  }
}

// Ends the program with an error that is printed once, by the program concerned. All others wait to be ended.
void Launch::object(const char* function, const JobProgram& program, const std::string& text) const {
  if (world_rank_ == program.first_world_rank) {
    fatal(function, text);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::abort();
}

void Launch::find_hub(const char* function) {
  if (environment_has("COUPLET_HUB")) {
    return;
  }
  for (const Role role : {Role::requester, Role::coupler}) {
    if (std::none_of(programs_.begin(), programs_.end(), [&](const auto& each) { return each.role == role; })) {
      object(function, programs_.front(),
             fmt::format("no rank of this MPI job is the {0}: start requester, coupler and workers in one mpirun, or, "
                         "for separate launches, a hub, and set COUPLET_HUB",
                         role_name(role)));
    }
  }
  const bool one_host = on_one_host();
  Meeting meeting;
  if (world_rank_ == 0) {
    const std::string digits = make_secret(function);
    std::copy(digits.begin(), digits.end(), meeting.secret.begin());
    keep_secret(function, digits.c_str());
    start_hub(function, one_host);
    std::copy_n(hub_.begin(), std::min(hub_.size(), meeting.hub.size() - 1), meeting.hub.begin());
  }
  check_mpi(function, MPI_Bcast(&meeting, sizeof meeting, MPI_BYTE, 0, MPI_COMM_WORLD));
  if (world_rank_ != 0) {
    hub_ = meeting.hub.data();
    keep_secret(function, meeting.secret.data());
  }
  ::explicit_bzero(&meeting, sizeof meeting);
}

// Keeps the secret in memory that has a descriptor but no name. Only this user may open it.
void Launch::keep_secret(const char* function, const char* digits) {
  const int made = ::memfd_create("couplet-secret", MFD_CLOEXEC);
  OwnedDescriptor above(made < 0 ? -1 : ::fcntl(made, F_DUPFD_CLOEXEC, secret_in_child + 1));
  if (made >= 0) {
    ::close(made);
  }
  if (above.number() < 0 || ::fchmod(above.number(), S_IRUSR | S_IWUSR) != 0 ||
      ::write(above.number(), digits, secret_digits) != static_cast<ssize_t>(secret_digits)) {
    fatal(function, system_text("no memory for the secret of this run"));
  }
  secret_ = std::move(above);
}

void Launch::start_hub(const char* function, bool one_host) {
  std::array<char, 4096> path{};
  check(function, couplet_private_find_program("couplet-hub", path.data(), path.size()));
  std::string list;
  for (const auto& program : programs_) {
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", program.name(), program.size);
  }
  Pipe input = make_pipe(function);
  Pipe output = make_pipe(function);
  const Spawning spawning(input.read_end.number(), output.write_end.number(), secret_.number());
  const std::vector<std::string> arguments = {path.data(),
                                              "--programs",
                                              list,
                                              "--listen",
                                              one_host ? "127.0.0.1:0" : "0.0.0.0:0",
                                              "--secret-file",
                                              fmt::format("/proc/self/fd/{}", secret_in_child),
                                              "--name",
                                              "cotocoa",
                                              "--until-input-ends"};
  if (const int error = spawning.run(path.data(), arguments, &hub_process_); error != 0) {
    fatal(function, fmt::format("cannot start {}: {}", path.data(), std::strerror(error)));
  }
  output.write_end.reset();
  lifeline_ = std::move(input.write_end);
  hub_output_ = std::move(output.read_end);
  hub_ = read_address(hub_output_.number());
  const auto colon = hub_.rfind(':');
  if (colon == std::string::npos) {
    fatal(function, fmt::format("{} did not start", path.data()));
  }
  // The hub listens on all interfaces; the other hosts know this one by its name.
  if (!one_host) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    hub_ = std::string(host.data()) + hub_.substr(colon);
  }
}

void Launch::end_hub() {
  if (hub_process_ == 0) {
    return;
  }
  std::array<char, 64> rest{};
  ssize_t count = 1;
  // Reads until the hub closes its output, which means that it has ended.
  while (count > 0 || (count < 0 && errno == EINTR)) {
    count = ::read(hub_output_.number(), rest.data(), rest.size());
  }
  int status = 0;
  while (::waitpid(hub_process_, &status, 0) < 0 && errno == EINTR) {
  }
  hub_process_ = 0;
  lifeline_.reset();
}

std::string Launch::secret_file() const {
  return secret_.number() < 0 ? "" : fmt::format("/proc/{}/fd/{}", ::getpid(), secret_.number());
}

std::string Launch::join_name() const {
  const bool alone = programs_.size() == 1;
  if (hub_.empty() && alone && environment_has("COUPLET_PROGRAM")) {
    return std::getenv("COUPLET_PROGRAM");
  }
  return programs_[own_].name();
}

}  // namespace ctca

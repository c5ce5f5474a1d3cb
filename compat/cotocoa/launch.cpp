#include "launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "report.hpp"

namespace ctca {
namespace {

constexpr std::size_t secret_digits = 64;

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

}  // namespace

const char* role_name(Role role) noexcept {
  return role == Role::requester ? "requester" : role == Role::coupler ? "coupler" : "worker";
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
    start_hub(one_host);
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
  compat::OwnedDescriptor above(made < 0 ? -1 : ::fcntl(made, F_DUPFD_CLOEXEC, compat::min_descriptor));
  if (made >= 0) {
    ::close(made);
  }
  if (above.number() < 0 || ::fchmod(above.number(), S_IRUSR | S_IWUSR) != 0 ||
      ::write(above.number(), digits, secret_digits) != static_cast<ssize_t>(secret_digits)) {
    fatal(function, system_text("no memory for the secret of this run"));
  }
  secret_ = std::move(above);
}

void Launch::start_hub(bool one_host) {
  std::string list;
  for (const auto& program : programs_) {
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", program.name(), program.size);
  }
  compat::HubStart what;
  what.options = {"--programs", list, "--listen", one_host ? "127.0.0.1:0" : "0.0.0.0:0", "--name", "cotocoa"};
  what.secret = secret_.number();
  hub_process_.start(what);
  hub_ = hub_process_.address();
  // The hub listens on all interfaces; the other hosts know this one by its name.
  if (!one_host) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    hub_ = std::string(host.data()) + hub_.substr(hub_.rfind(':'));
  }
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

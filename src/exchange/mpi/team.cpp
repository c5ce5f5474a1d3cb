#include "exchange/mpi/team.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>
#include <utility>

#include "exchange/mpi/call.hpp"

namespace couplet::exchange {
namespace {

constexpr int create_tag = 7;  // MPI_Comm_create_group has tags of its own

// What a member tells the others.
struct Fact {
  std::uint64_t identity = 0;
  std::uint64_t rank = 0;  // in the job
  std::uint64_t is_paired = 0;
  std::vector<std::uint64_t> peers;  // ranks in the group
};

std::string encode(const Job& job, std::span<const Port> ports) {
  const bool paired = std::all_of(ports.begin(), ports.end(), [](const Port& port) { return port.is_paired; });
  std::string text = fmt::format("{} {} {}", job.identity(), job.rank(), paired ? 1 : 0);
  for (const Port& port : ports) {
    text += fmt::format(" {}", port.peer);
  }
  return text;
}

std::optional<Fact> decode(std::string_view text, std::uint64_t size) {
  std::vector<std::uint64_t> numbers;
  while (!text.empty()) {
    std::uint64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc()) {
      return std::nullopt;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    text.remove_prefix(text.starts_with(' ') ? 1 : 0);
  }
  if (numbers.size() < 3) {
    return std::nullopt;
  }
  Fact fact{numbers[0], numbers[1], numbers[2], {numbers.begin() + 3, numbers.end()}};
  const bool in_group =
      std::all_of(fact.peers.begin(), fact.peers.end(), [size](std::uint64_t peer) { return peer < size; });
  return in_group && fact.rank <= INT32_MAX ? std::optional(std::move(fact)) : std::nullopt;
}

// Returns the ranks in the group of the members that are connected with `rank` by ports, in rising order.
std::vector<std::uint64_t> connected(const std::vector<Fact>& facts, std::uint64_t rank) {
  std::vector<std::uint64_t> leader(facts.size());
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&leader](std::uint64_t member) {
    while (leader[member] != member) {
      leader[member] = leader[leader[member]];
      member = leader[member];
    }
    return member;
  };
  for (std::uint64_t member = 0; member < facts.size(); ++member) {
    for (const std::uint64_t peer : facts[member].peers) {
      leader[find(peer)] = find(member);
    }
  }
  std::vector<std::uint64_t> found;
  for (std::uint64_t member = 0; member < facts.size(); ++member) {
    if (find(member) == find(rank)) {
      found.push_back(member);
    }
  }
  return found;
}

Result<std::vector<Fact>> read_facts(const std::vector<std::string>& texts, std::uint64_t identity) {
  std::vector<Fact> facts;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    auto fact = decode(texts[rank], texts.size());
    if (!fact) {
      return fail(Code::protocol, "member {} says '{}', which is no description of a member of an MPI job", rank,
                  texts[rank]);
    }
    if (fact->identity != identity) {
      return fail(Code::unsupported,
                  "member {} of the group has not joined with the same communicator of one MPI job as this member",
                  rank);
    }
    facts.push_back(std::move(*fact));
  }
  return facts;
}

}  // namespace

Result<std::shared_ptr<Team>> Team::open(const std::shared_ptr<Job>& job, const Setting& setting, Talk& talk,
                                         const Status& own) {
  COUPLET_TRY_VALUE(const auto texts, talk.gather(encode(*job, setting.ports)));
  auto facts = read_facts(texts, job->identity());
  Status problem = own;
  if (problem.ok()) {
    problem = facts.ok() ? job->check_thread() : facts.status();
  }
  COUPLET_TRY(talk.agree(problem));
  const auto group_ranks = connected(*facts, static_cast<std::uint64_t>(setting.rank));
  std::vector<std::int32_t> members;
  std::vector<int> team_rank(facts->size(), -1);
  bool paired = true;
  for (const std::uint64_t rank : group_ranks) {
    team_rank[rank] = static_cast<int>(members.size());
    members.push_back(static_cast<std::int32_t>((*facts)[rank].rank));
    paired = paired && (*facts)[rank].is_paired != 0;
  }
  auto team = std::make_shared<Team>(job, std::move(members), setting.ports);
  team->is_paired_ = paired;
  for (const Port& port : setting.ports) {
    team->ranks_.push_back(team_rank[static_cast<std::size_t>(port.peer)]);
  }
  const Status made = team->is_alone() ? Status() : team->make_comm();
  if (team->comm_ != MPI_COMM_NULL) {
    job->keep(team);
  }
  COUPLET_TRY(talk.agree(made));
  return team;
}

Team::Team(std::shared_ptr<Job> job, std::vector<std::int32_t> members, std::span<const Port> ports)
    : job_(std::move(job)), members_(std::move(members)), ports_(ports.begin(), ports.end()) {}

Status Team::make_comm() {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group mine = MPI_GROUP_NULL;
  COUPLET_TRY(check_mpi(MPI_Comm_group(job_->comm(), &all), "MPI_Comm_group"));
  const int included = MPI_Group_incl(all, static_cast<int>(members_.size()), members_.data(), &mine);
  MPI_Group_free(&all);
  COUPLET_TRY(check_mpi(included, "MPI_Group_incl"));
  const int created = MPI_Comm_create_group(job_->comm(), mine, create_tag, &comm_);
  MPI_Group_free(&mine);
  COUPLET_TRY(check_mpi(created, "MPI_Comm_create_group"));
  return check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

Result<bool> Team::is_on_one_node() {
  MPI_Comm node = MPI_COMM_NULL;
  int size = 0;
  COUPLET_TRY(
      check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "MPI_Comm_split_type"));
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return static_cast<std::size_t>(size) == members_.size();
}

Result<std::byte*> Team::reserve(std::uint64_t bytes) {
  const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1);
  auto* memory = static_cast<std::byte*>(::operator new(wanted, std::align_val_t{64}, std::nothrow));
  if (memory == nullptr) {
    return fail(Code::memory, "the messages of an exchange need {} bytes, which the system does not give", bytes);
  }
  memory_.emplace_back(memory);
  std::memset(memory, 0, wanted);
  return memory;
}

std::span<MPI_Request> Team::requests(std::size_t count, Calls calls) {
  requests_.push_back(std::make_unique<Requests>(Requests{std::vector<MPI_Request>(count, MPI_REQUEST_NULL), calls}));
  return requests_.back()->list;
}

void Team::progress() noexcept {
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, MPI_STATUS_IGNORE);
}

Status Team::check_open() const {
  return closing_.is_over ? fail(Code::state, "MPI_Finalize was called while an exchange over MPI was open") : Status();
}

// ---- the end ----

// It says to all whether each member has a window: if one could not be made, no member may free its own.
Status Team::begin_closing() {
  if (closing_.request != MPI_REQUEST_NULL) {
    return {};
  }
  closing_.has_window = window_ != MPI_WIN_NULL ? 1 : 0;
  return check_mpi(MPI_Iallreduce(MPI_IN_PLACE, &closing_.has_window, 1, MPI_INT, MPI_MIN, comm_, &closing_.request),
                   "MPI_Iallreduce");
}

Result<bool> Team::close() {
  if (closing_.is_over || comm_ == MPI_COMM_NULL) {
    return true;
  }
  COUPLET_TRY(begin_closing());
  int all = 0;
  COUPLET_TRY(check_mpi(MPI_Test(&closing_.request, &all, MPI_STATUS_IGNORE), "MPI_Test"));
  if (all == 0) {
    return false;
  }
  release();
  job_->forget(this);
  return true;
}

void Team::free_all() noexcept {
  if (closing_.is_over || !begin_closing().ok()) {
    return;
  }
  MPI_Wait(&closing_.request, MPI_STATUS_IGNORE);
  release();
}

// All members are here, so the collective calls below do not wait for long.
void Team::release() noexcept {
  closing_.is_over = true;
  if (window_ != MPI_WIN_NULL && closing_.has_window != 0) {
    if (epoch_ == Epoch::fence) {
      MPI_Win_fence(MPI_MODE_NOSUCCEED, window_);
    } else if (epoch_ == Epoch::lock_all) {
      MPI_Win_unlock_all(window_);
    }
    MPI_Win_free(&window_);
  }
  release_requests();
  for (MPI_Group& group : groups_) {
    MPI_Group_free(&group);
  }
  groups_.clear();
  if (graph_ != MPI_COMM_NULL) {
    MPI_Comm_free(&graph_);
  }
  MPI_Comm_free(&comm_);
}

// Requests are active only if the method was destroyed in the middle of a round. Their memory stays as long as this.
void Team::release_requests() noexcept {
  for (const auto& requests : requests_) {
    for (MPI_Request& request : requests->list) {
      int done = 1;
      if (request == MPI_REQUEST_NULL || MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        continue;
      }
      if (done == 0 && requests->calls == Calls::collective) {
        continue;  // MPI allows neither to cancel it nor to free it
      }
      if (done == 0) {
        MPI_Cancel(&request);
      }
      MPI_Request_free(&request);
    }
  }
}

}  // namespace couplet::exchange

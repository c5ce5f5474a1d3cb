#include "meeting.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "report.hpp"

namespace waitio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double remark_after_s = 10;
constexpr double settings_within_s = 60;
constexpr int leave_remark_ms = 10'000;
constexpr std::int32_t tag_settings = 1;
constexpr const char* init = "waitio_init";

// The version of the records that the PBs exchange.
constexpr std::int32_t protocol = 1;

void require_mpi() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    throw Error("MPI is not initialised (or is finalised); MPI_Init has to come before");
  }
}

void check_mpi(int code) {
  if (code != MPI_SUCCESS) {
    throw Error("a call of MPI failed", error_other);
  }
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A directory that a job script has made for all to read is closed, since Couplet refuses it otherwise.
void close_directory(const char* path) {
  struct stat facts {};
  if (::lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid()) {
    static_cast<void>(::chmod(path, S_IRWXU));
  }
}

std::string block_name(int block) {
  return fmt::format("pb{}", block);
}

// Says what has to be right if PB 0 does not show.
const char* where_block_0_runs(const Settings& settings) {
  return settings.type == CommType::file
             ? "PB 0 has to run with the same directory and run (WAITIO_SCRATCH_DIR, COUPLER_JOB_ID)"
             : "PB 0 has to run there (WAITIO_MASTER_HOST, WAITIO_MASTER_PORT)";
}

}  // namespace

Meeting::Meeting() {
  require_mpi();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  call_self(fmt::format("WaitIO, rank {} of its launch", rank_));
  share_settings();
  call_self(fmt::format("WaitIO PB {}, rank {}", settings_.block, rank_));
  try {
    join();
    find_blocks();
    compare_settings();
  } catch (...) {
    if (universe_ != nullptr) {
      couplet_leave(universe_);
    }
    throw;
  }
}

Meeting::~Meeting() = default;

// Throws at all ranks of the PB if one of them gives a sentence. Only the first of these prints its own.
void Meeting::agree(const std::string& own_failure, int code) const {
  struct {
    int rank;
    int code;
  } own{own_failure.empty() ? size_ : rank_, code}, first{0, 0};
  check_mpi(MPI_Allreduce(&own.rank, &first.rank, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (first.rank < size_) {
    first.code = code;
    check_mpi(MPI_Bcast(&first.code, 1, MPI_INT, first.rank, MPI_COMM_WORLD));
    throw Error(first.rank == rank_ ? own_failure : "", first.code);
  }
}

void Meeting::share_settings() {
  std::string failure;
  if (rank_ == 0) {
    try {
      settings_ = read_settings();
    } catch (const Error& error) {
      failure = error.what();
    }
  }
  agree(failure, error_argument);
  static_assert(std::is_trivially_copyable_v<Settings>);
  check_mpi(MPI_Bcast(&settings_, sizeof settings_, MPI_BYTE, 0, MPI_COMM_WORLD));
}

// ---- joining ----

// Starts the hub. Returns the sentence if it cannot, since another hub may be there.
std::string Meeting::start_hub() {
  compat::HubStart what;
  what.quiet = true;
  std::string programs;
  for (int block = 0; block < settings_.block_count; ++block) {
    programs += block == 0 ? fmt::format("pb0:{}", size_) : fmt::format(",pb{}", block);
  }
  what.options = {"--programs", programs, "--name", "waitio"};
  if (settings_.type == CommType::file) {
    what.options.insert(what.options.end(),
                        {"--listen", "127.0.0.1:0", "--file-directory", settings_.directory.data()});
  } else {
    what.options.insert(what.options.end(), {"--listen", settings_.hub.data()});
  }
  try {
    hub_.start(what);
  } catch (const compat::Failure& failure) {
    return failure.what();
  }
  return "";
}

couplet_status Meeting::join_once(double timeout_s) {
  couplet_join_options options;
  couplet_join_options_init(&options);
  options.hub = settings_.hub.data();
  options.rank = rank_;
  options.size = size_;
  options.timeout_s = timeout_s;
  const LinkVariables variables(settings_);
  return couplet_join(block_name(settings_.block).c_str(), &options, &universe_);
}

// Joins again while no hub answers: the PBs start at different times. All ranks of the PB make the same attempts.
void Meeting::join() {
  const bool hosts = settings_.block == 0 && rank_ == 0 && settings_.given_hub == 0;
  const auto begin = Clock::now();
  bool remarked = false;
  if (rank_ == 0 && settings_.directory[0] != '\0') {
    close_directory(settings_.directory.data());
  }
  for (int vain = 0;; ++vain) {
    const std::string no_hub = hosts && hub_.wait_for_end(0) ? start_hub() : "";
    const double left_s = settings_.patience_s - seconds_since(begin);
    const couplet_status status = join_once(settings_.patience_s < 0 ? -1 : std::max(left_s, 0.0));
    std::string text = status == COUPLET_OK ? "" : couplet_error_text();
    const bool vainly = status == COUPLET_ERROR_HUB_LOST && settings_.given_hub == 0 &&
                        (settings_.patience_s < 0 || left_s > 0) && (no_hub.empty() || vain == 0);
    // 0: joined; 1: to be tried again; 2: failed.
    int own = status == COUPLET_OK ? 0 : vainly ? 1 : 2;
    int worst = 0;
    check_mpi(MPI_Allreduce(&own, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    if (worst == 0) {
      return;
    }
    if (status == COUPLET_OK) {
      couplet_leave(universe_);
      universe_ = nullptr;
    }
    if (status == COUPLET_ERROR_EXISTS) {
      text += "; if that is a run which is just ending, start again in some seconds";
    } else if (!no_hub.empty()) {
      text = fmt::format("cannot start a hub at {}{}: {}; and what is there cannot be joined: {}", settings_.hub.data(),
                         settings_.type == CommType::file ? "" : " (WAITIO_MASTER_HOST, WAITIO_MASTER_PORT)", no_hub,
                         text);
    } else if (status == COUPLET_ERROR_HUB_LOST && settings_.given_hub == 0) {
      text = fmt::format("{}; {}", text, where_block_0_runs(settings_));
    } else if (status == COUPLET_ERROR_NOT_FOUND && settings_.given_hub == 0) {  // a host, or a program at the hub
      text = fmt::format("{} (from WAITIO_MASTER_HOST, WAITIO_MASTER_PORT and WAITIO_PBID)", text);
    }
    agree(own == 2 ? text : "", status == COUPLET_OK ? error_other : -status);
    if (!remarked && rank_ == 0 && seconds_since(begin) > remark_after_s) {
      say(init, fmt::format("is waiting for PB 0, which nothing shows yet at {}; {}", settings_.hub.data(),
                            where_block_0_runs(settings_)));
      remarked = true;
    }
  }
}

// ---- the PBs ----

void Meeting::find_blocks() {
  std::int32_t count = 0;
  std::int32_t own = 0;
  check(couplet_universe_program(universe_, &count, &own, nullptr, nullptr));
  std::vector<std::pair<std::string, Block>> programs;
  for (std::int32_t index = 0; index < count; ++index) {
    const char* name = nullptr;
    Block block;
    check(couplet_universe_describe_program(universe_, index, &name, &block.size, &block.first_rank));
    programs.emplace_back(name, block);
  }
  // The hub may also serve programs that do not use WaitIO: they have other names.
  for (int block = 0;; ++block) {
    const auto found = std::find_if(programs.begin(), programs.end(),
                                    [&](const auto& each) { return each.first == block_name(block); });
    if (found == programs.end()) {
      break;
    }
    blocks_.push_back(found->second);
  }
}

void Meeting::compare_settings() {
  std::string failure;
  int code = error_argument;
  if (rank_ == 0) {
    try {
      tell_settings();
    } catch (const Error& error) {
      failure = error.what();
      code = error.code();
    }
  }
  agree(failure, code);
}

// The first rank of each PB sends its settings to the first ranks of all others, so that each side of a difference
// hears of it.
void Meeting::tell_settings() {
  const std::size_t count = blocks_.size();
  const auto own = static_cast<std::size_t>(settings_.block);
  if (own >= count) {
    throw Error(fmt::format("this is PB {}, and the hub at {} has no program pb{}: PBs have the ids 0, 1, ...", own,
                            settings_.hub.data(), count));
  }
  couplet_group* everyone = nullptr;
  check(couplet_universe_group(universe_, &everyone));
  records_.resize(count);
  records_[own] = {protocol, settings_.block, settings_.block_count, static_cast<std::int32_t>(settings_.type)};
  std::vector<couplet_request*> sends(count, nullptr);
  for (std::size_t other = 0; other < count; ++other) {
    if (other != own) {
      check(couplet_isend(everyone, &records_[own], sizeof(SettingsRecord), COUPLET_BYTE, blocks_[other].first_rank,
                          tag_settings, &sends[other]));
    }
  }
  for (std::size_t other = 0; other < count; ++other) {
    if (other != own) {
      compare_with(other);
    }
  }
  check(couplet_waitall(static_cast<std::int32_t>(count), sends.data(), settings_within_s, nullptr, nullptr));
  if (settings_.block_count != 0 && static_cast<std::size_t>(settings_.block_count) != count) {
    throw Error(fmt::format("WAITIO_NPB is {} here, and the hub at {} has {} parallel block{}", settings_.block_count,
                            settings_.hub.data(), count, count == 1 ? "" : "s"));
  }
}

void Meeting::compare_with(std::size_t other) {
  couplet_group* everyone = nullptr;
  check(couplet_universe_group(universe_, &everyone));
  SettingsRecord& record = records_[other];
  couplet_request* request = nullptr;
  check(
      couplet_irecv(everyone, &record, sizeof record, COUPLET_BYTE, blocks_[other].first_rank, tag_settings, &request));
  const couplet_status status = couplet_wait(&request, settings_within_s, nullptr);
  if (status == COUPLET_ERROR_TIMEOUT) {
    throw Error(fmt::format("PB {} has joined, but has not called waitio_init within {} s; or the hub at {} is that of "
                            "an earlier run",
                            other, settings_within_s, settings_.hub.data()),
                -status);
  }
  check(status);
  if (record.version != protocol || record.block != static_cast<std::int32_t>(other)) {
    throw Error(fmt::format("PB {} uses another version of libwaitio", other), error_other);
  }
  if (record.block_count != settings_.block_count && record.block_count != 0 && settings_.block_count != 0) {
    throw Error(
        fmt::format("WAITIO_NPB is {} here, and {} in PB {}", settings_.block_count, record.block_count, other));
  }
  const bool both_given = record.type != 0 && settings_.type != CommType::none;
  if (both_given && record.type != static_cast<std::int32_t>(settings_.type)) {
    throw Error(fmt::format("WAITIO_COMM_TYPE is '{}' here, and '{}' in PB {}", comm_type_name(settings_.type),
                            comm_type_name(static_cast<CommType>(std::clamp(record.type, 0, 4))), other));
  }
}

// ---- leaving ----

void Meeting::leave(const char* function) {
  couplet_universe* const universe = universe_;
  universe_ = nullptr;
  const couplet_status status = couplet_leave(universe);
  const std::string text = status == COUPLET_OK ? "" : couplet_error_text();
  if (hub_.running() && !hub_.wait_for_end(leave_remark_ms)) {
    say(function,
        "waits for the ranks of the other PBs, which have not called waitio_finalize: this process has their port");
    hub_.wait_for_end(-1);
  }
  if (settings_.directory[0] != '\0') {
    static_cast<void>(::rmdir(settings_.directory.data()));  // succeeds for the last process that has files there
  }
  if (status < 0 && status != COUPLET_ERROR_HUB_LOST) {  // no hub: all else was done
    throw Error(text, -status);
  }
}

}  // namespace waitio

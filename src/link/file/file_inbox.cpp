#include "link/file/file_inbox.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "link/file/file_connection.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/lock.hpp"

namespace couplet::link {
namespace {

constexpr std::size_t max_name_bytes = 40;
constexpr int max_makings = 16;

std::string run_name(std::uint64_t run_id) {
  return fmt::format("run-{:016x}", run_id);
}

std::uint64_t changed_ns(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(facts.st_mtim.tv_nsec);
}

// Returns when anything in the directory of a run has changed last: a process in it has begun, or its heart has beaten.
std::uint64_t run_changed_ns(const std::string& run) {
  std::uint64_t last = changed_ns(run);
  const auto inboxes = os::list_directory(run);
  if (inboxes.ok()) {
    for (const std::string& inbox : *inboxes) {
      const std::string path = fmt::format("{}/{}", run, inbox);
      last = std::max({last, changed_ns(path), changed_ns(path + "/beat")});
    }
  }
  return last;
}

std::vector<std::string> calls_in(const std::string& inbox) {
  std::vector<std::string> calls;
  const auto names = os::list_directory(inbox);
  for (std::size_t index = 0; names.ok() && index < names->size(); ++index) {
    if ((*names)[index].starts_with(file_call_prefix)) {
      calls.push_back(fmt::format("{}/{}", inbox, (*names)[index]));
    }
  }
  return calls;
}

enum class Owner : std::uint8_t { may_live, has_left, has_died };

Owner owner_of(const std::string& beat) {
  if (::access(beat.c_str(), F_OK) != 0) {
    return errno == ENOENT ? Owner::has_left : Owner::may_live;
  }
  return owner_has_ended(beat) ? Owner::has_died : Owner::may_live;
}

// Says whether a process of the run has died, and none may live. Those that dial have an inbox, too, or a heartbeat in
// the connection.
bool only_dead_are_left(const std::vector<std::string>& inboxes) {
  bool any_has_died = false;
  const auto may_live = [&any_has_died](const std::string& beat) {
    const Owner owner = owner_of(beat);
    any_has_died = any_has_died || owner == Owner::has_died;
    return owner == Owner::may_live;
  };
  for (const std::string& inbox : inboxes) {
    const auto calls = calls_in(inbox);
    if (may_live(inbox + "/beat") || std::any_of(calls.begin(), calls.end(), [&](const std::string& call) {
          return may_live(fmt::format("{}/{}", call, file_dialer_beat));
        })) {
      return false;
    }
  }
  return any_has_died;
}

// Removes what the processes of a run have left, if it is proven that nobody needs it. Another process may begin in the
// run meanwhile: what it makes is left alone.
void remove_dead_run(const std::string& run) {
  std::vector<std::string> inboxes;
  if (const auto names = os::list_directory(run); names.ok()) {
    for (const std::string& name : *names) {
      inboxes.push_back(fmt::format("{}/{}", run, name));
    }
  }
  if (!only_dead_are_left(inboxes)) {
    return;
  }
  for (const std::string& inbox : inboxes) {
    if (owner_of(inbox + "/beat") == Owner::has_died) {
      // While this process has the lock, no successor begins in this inbox.
      if (const auto lock = os::LifeLock::take(inbox + "/beat"); lock.ok()) {
        static_cast<void>(os::remove_directory(inbox));
      }
      continue;
    }
    for (const std::string& call : calls_in(inbox)) {
      static_cast<void>(os::remove_directory(call));
    }
    static_cast<void>(::rmdir(inbox.c_str()));
  }
  static_cast<void>(::rmdir(run.c_str()));
}

struct Life {
  std::uint32_t process = 0;
  std::uint32_t incarnation = 0;
};

// Returns what the name of an inbox says, if it is "<number of the process>-<incarnation>".
std::optional<Life> life_of(std::string_view name) {
  Life life;
  const char* const end = name.data() + name.size();
  const auto process = std::from_chars(name.data(), end, life.process);
  if (process.ec != std::errc() || process.ptr == end || *process.ptr != '-') {
    return std::nullopt;
  }
  const auto incarnation = std::from_chars(process.ptr + 1, end, life.incarnation);
  return incarnation.ec == std::errc() && incarnation.ptr == end ? std::optional(life) : std::nullopt;
}

// Removes the inboxes of earlier lives of this process that were killed, if nobody has a connection in them. That of
// the life before this one stays: it proves to others that this life is over.
void remove_earlier_lives(const FileAddress& own) {
  const auto own_life = life_of(own.name);
  const std::string run = fmt::format("{}/{}", own.directory, run_name(own.run_id));
  const auto names = os::list_directory(run);
  for (std::size_t index = 0; own_life && names.ok() && index < names->size(); ++index) {
    const auto life = life_of((*names)[index]);
    if (!life || life->process != own_life->process || life->incarnation + 1 >= own_life->incarnation) {
      continue;
    }
    const std::string inbox = fmt::format("{}/{}", run, (*names)[index]);
    if (calls_in(inbox).empty() && owner_of(inbox + "/beat") == Owner::has_died) {
      if (const auto lock = os::LifeLock::take(inbox + "/beat"); lock.ok()) {
        static_cast<void>(os::remove_directory(inbox));
      }
    }
  }
}

// Is a process of this run proven to live? It may have been stopped for days.
bool is_inhabited(const std::string& run) {
  const auto inboxes = os::list_directory(run);
  return inboxes.ok() && std::any_of(inboxes->begin(), inboxes->end(), [&run](const std::string& inbox) {
           return FileBeatWatch(fmt::format("{}/{}/beat", run, inbox), 1).beats_within(0);
         });
}

// Other runs that are over are told by their run id, which is the name of their directory, and by their hearts.
void remove_stale_runs(const FileAddress& own) {
  const std::uint64_t now = changed_ns(own.beat_path());  // by the clock that also wrote the other times
  const auto runs = os::list_directory(own.directory);
  if (!runs.ok() || now == 0) {
    return;
  }
  for (const std::string& run : *runs) {
    const std::string path = own.directory + "/" + run;
    if (!run.starts_with("run-") || run == run_name(own.run_id)) {
      continue;
    }
    const std::uint64_t changed = run_changed_ns(path);
    if (changed != 0 && changed < now && now - changed > max_stale_ns && !is_inhabited(path)) {
      static_cast<void>(os::remove_directory(path));
    } else {
      remove_dead_run(path);
    }
  }
}

// The last process of a run may remove the directory of the run at any moment, so it is made again.
Status make_directories(const FileAddress& address) {
  Status status;
  for (int making = 0; making < max_makings; ++making) {
    COUPLET_TRY(os::make_private_directory(address.directory).within("the shared directory of the link 'file'"));
    status = os::make_private_directory(fmt::format("{}/{}", address.directory, run_name(address.run_id)));
    if (status.ok()) {
      status = os::make_private_directory(address.path());
    }
    if (status.code() != Code::not_found) {
      break;
    }
  }
  return status;
}

}  // namespace

std::string FileAddress::path() const {
  return fmt::format("{}/{}/{}", directory, run_name(run_id), name);
}

bool is_inbox_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= max_name_bytes && std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || letter == '-';
  });
}

bool inbox_is_open(const FileAddress& address) {
  return ::access(address.beat_path().c_str(), F_OK) == 0;
}

Result<std::unique_ptr<FileInbox>> FileInbox::open(const FileAddress& address, const FileOptions& options) {
  if (!address.directory.starts_with('/')) {
    return fail(Code::config, "the directory of the link 'file' is '{}'; it has to be an absolute path",
                address.directory);
  }
  std::unique_ptr<FileInbox> inbox(new FileInbox(address, options));
  for (int making = 0; !inbox->beat_; ++making) {
    COUPLET_TRY(make_directories(address));
    auto beat = FileBeat::start(address.beat_path(), options.beat_interval_ns);
    if (!beat.ok() && (beat.code() != Code::not_found || making == max_makings)) {
      return beat.status();
    }
    if (beat.ok()) {
      inbox->beat_ = std::move(*beat);
    }
  }
  remove_stale_runs(address);
  remove_earlier_lives(address);
  return inbox;
}

FileInbox::~FileInbox() {
  if (!beat_ || !beat_->mine()) {
    return;
  }
  beat_.reset();
  const auto calls = take_calls(SIZE_MAX);
  if (calls.ok()) {
    for (const std::string& path : *calls) {
      // Taking the connection and ending it tells the dialer.
      static_cast<void>(FileConnection::accept(path, {.run_id = address_.run_id}, options_));
    }
  }
  remove_if_empty(address_.path());
  remove_dead_run(fmt::format("{}/{}", address_.directory, run_name(address_.run_id)));
}

void remove_if_empty(const std::string& inbox) noexcept {
  if (::rmdir(inbox.c_str()) == 0) {
    static_cast<void>(::rmdir(inbox.substr(0, inbox.rfind('/')).c_str()));
  }
}

bool may_be_taken_later(Code code) noexcept {
  return code == Code::limit || code == Code::memory;
}

void FileInbox::put_back(const std::string& path) {
  taken_.erase(path.substr(path.rfind('/') + 1));
}

Result<std::vector<std::string>> FileInbox::take_calls(std::size_t most) {
  auto names = os::list_directory(address_.path());
  if (!names.ok()) {
    return fail(Code::system, "the shared directory {} can no longer be read: {}", address_.path(),
                names.status().text());
  }
  std::set<std::string> still;
  std::vector<std::string> calls;
  for (const std::string& name : *names) {
    if (!name.starts_with(file_call_prefix)) {
      continue;
    }
    if (taken_.contains(name)) {
      still.insert(name);
    } else if (calls.size() < most) {
      calls.push_back(address_.path() + "/" + name);
      still.insert(name);
    }
  }
  taken_ = std::move(still);
  return calls;
}

}  // namespace couplet::link

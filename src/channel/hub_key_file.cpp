#include "channel/hub_key_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "channel/secret.hpp"
#include "os/error.hpp"

namespace couplet::channel {
namespace {

constexpr std::string_view key_kind = "the key file";
constexpr std::size_t seed_digits = 2 * secret_bytes;
constexpr std::size_t max_holder_bytes = 160;

struct KeyFileContents {
  HubKey key;
  std::string holder;  // the process that has written that it has the key; empty: none
};

Result<os::Descriptor> open_key_file(const std::string& path) {
  const auto open_for = [&](int access) {
    return os::Descriptor(os::retry_interrupted(
        [&] { return ::open(path.c_str(), access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY); }));
  };
  auto file = open_for(O_RDWR);
  if (!file && (errno == EACCES || errno == EROFS)) {
    file = open_for(O_RDONLY);
  }
  if (!file) {
    const int error = errno;
    return error == ELOOP ? fail(Code::config, "{} {} is a symbolic link, which no hub has made", key_kind, path)
                          : os::system_failure(error, fmt::format("cannot read {} {}", key_kind, path));
  }
  return file;
}

Result<KeyFileContents> read_key_file(const os::Descriptor& file, const std::string& path) {
  PrivateText text;
  COUPLET_TRY(read_private(file, path, key_kind, text));
  const std::string_view all = text.view();
  const auto seed = parse_secret(all.substr(0, seed_digits));
  const bool ends_there = all.size() <= seed_digits || all[seed_digits] == '\n';
  if (!seed.ok() || !ends_there) {
    return fail(Code::config, "{} {} does not begin with a line of {} hexadecimal digits, a hub's seed", key_kind, path,
                seed_digits);
  }
  const auto rest = all.substr(std::min(seed_digits + 1, all.size()));
  return KeyFileContents{HubKey(*seed), std::string(rest.substr(0, std::min(rest.find('\n'), rest.size())))};
}

std::string holder_of(const KeyFileContents& contents) {
  return contents.holder.empty() ? std::string("a process that has not told its number") : contents.holder;
}

// Returns true if it is locked now, false if the file system has no locks, and nothing if another process has the lock.
std::optional<bool> try_lock(const os::Descriptor& file) {
  if (os::retry_interrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0) {
    return true;
  }
  return errno == EWOULDBLOCK ? std::optional<bool>() : std::optional<bool>(false);
}

// Says what is at a path at which no key can be made.
Status what_is_there(const std::string& path) {
  struct stat facts {};
  const bool is_file = ::lstat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  const auto file = is_file ? open_key_file(path) : Result<os::Descriptor>(Code::not_found);
  const auto contents = file.ok() ? read_key_file(*file, path) : Result<KeyFileContents>(file.status());
  if (!contents.ok()) {
    return fail(Code::exists,
                "{} exists, and is {}. It is not replaced: name a file for the key of this hub that does not exist yet "
                "(--key-file)",
                path, is_file ? "no key of a hub" : "not a file that a hub has made");
  }
  const auto run = contents->key.run_id();
  if (!try_lock(*file)) {
    return fail(Code::exists,
                "{} has the key of the hub of run {:016x}, which lives: {}. Name another file for the key of this hub "
                "(--key-file)",
                path, run, holder_of(*contents));
  }
  return fail(Code::exists,
              "{} has the key of the hub of run {:016x}: to go on with that run, start the hub with --resume {:016x}; "
              "if that run has ended, remove the file",
              path, run, run);
}

}  // namespace

Result<std::unique_ptr<HubKeyFile>> HubKeyFile::make(const std::string& path, const HubKey& key) {
  auto made = make_private_file(path, key.seed(), key_kind);
  if (made.code() == Code::exists) {
    return what_is_there(path);
  }
  COUPLET_TRY(made.status());
  const bool locked = try_lock(*made).value_or(false);
  return std::unique_ptr<HubKeyFile>(new HubKeyFile(path, key, std::move(*made), locked));
}

Result<std::unique_ptr<HubKeyFile>> HubKeyFile::take_over(const std::string& path, std::uint64_t run_id) {
  auto file = open_key_file(path);
  if (file.code() == Code::not_found) {
    return fail(Code::config,
                "the members of run {:016x} take back only a hub with the key of the first one, which {} does not "
                "have: name the file that has it (--key-file)",
                run_id, path);
  }
  COUPLET_TRY(file.status());
  COUPLET_TRY_VALUE(const auto contents, read_key_file(*file, path));
  if (contents.key.run_id() != run_id) {
    return fail(Code::config, "{} has the key of the hub of run {:016x}, not of run {:016x}", path,
                contents.key.run_id(), run_id);
  }
  const auto locked = try_lock(*file);
  if (!locked) {
    return fail(Code::exists, "the hub of run {:016x} lives, and has locked {}: {}. A run has one hub", run_id, path,
                holder_of(contents));
  }
  return std::unique_ptr<HubKeyFile>(new HubKeyFile(path, contents.key, std::move(*file), *locked));
}

void HubKeyFile::name_holder(std::string_view text) const noexcept {
  std::array<char, max_holder_bytes + 1> line{'\n'};
  const auto shown = text.substr(0, std::min(text.find('\n'), max_holder_bytes));
  std::copy(shown.begin(), shown.end(), line.begin() + 1);
  const auto at = static_cast<off_t>(seed_digits);
  // The seed is not touched. Without this line, texts are less clear.
  if (::ftruncate(file_.number(), at) == 0) {
    static_cast<void>(!::pwrite(file_.number(), line.data(), shown.size() + 1, at));
  }
}

void HubKeyFile::remove() const noexcept {
  struct stat own {};
  struct stat named {};
  if (::fstat(file_.number(), &own) == 0 && ::lstat(path_.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
      own.st_dev == named.st_dev) {
    ::unlink(path_.c_str());
  }
}

}  // namespace couplet::channel

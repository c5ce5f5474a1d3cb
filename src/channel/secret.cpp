#include "channel/secret.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/assert.hpp"
#include "os/error.hpp"

namespace couplet::channel {

namespace {

constexpr std::string_view secret_kind = "the secret file";
constexpr std::string_view white_space = " \t\r\n";

[[nodiscard]] std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return home;
  }
  const passwd* const entry = getpwuid(geteuid());
  return entry != nullptr && entry->pw_dir != nullptr ? entry->pw_dir : "";
}

// Makes the folder of the file, and the missing folders above it, with mode 0700.
Status make_folders(const std::string& path, std::string_view what) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat information {};
      if (stat(folder.c_str(), &information) != 0) {
        return os::system_failure(error, fmt::format("cannot make the folder {} for {}", folder, what));
      }
    }
  }
  return {};
}

Status write_all(const os::Descriptor& file, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const auto count = os::retry_interrupted([&] { return ::write(file.number(), text.data(), text.size()); });
    if (count < 0) {
      return os::system_failure(errno, fmt::format("cannot write {}", name));
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

// Makes the file complete under another name, and then links it, so that no process ever reads a part of it. If several
// processes do so, the first one wins.
Result<os::Descriptor> make_private_file(const std::string& path, const SecretBytes& bytes, std::string_view what) {
  COUPLET_TRY(make_folders(path, what));
  const auto name = fmt::format("{} {}", what, path);
  const std::string made = fmt::format("{}.{}.{:016x}", path, getpid(), [] {
    std::uint64_t number = 0;
    randombytes_buf(&number, sizeof(number));
    return number;
  }());
  os::Descriptor file(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    return os::system_failure(errno, fmt::format("cannot make {}", name));
  }
  std::array<char, 2 * secret_bytes + 1> digits{};
  sodium_bin2hex(digits.data(), digits.size(), bytes.bytes().data(), bytes.bytes().size());
  digits.back() = '\n';
  Status status = write_all(file, std::string_view(digits.data(), digits.size()), name);
  sodium_memzero(digits.data(), digits.size());
  if (status.ok() && ::link(made.c_str(), path.c_str()) != 0) {
    status = os::system_failure(errno, fmt::format("cannot make {}", name));
  }
  ::unlink(made.c_str());
  COUPLET_TRY(status);
  return file;
}

PrivateText::~PrivateText() {
  sodium_memzero(bytes.data(), bytes.size());
}

Status read_private(const os::Descriptor& file, const std::string& path, std::string_view what, PrivateText& text) {
  struct stat information {};
  if (fstat(file.number(), &information) != 0) {
    return os::system_failure(errno, fmt::format("cannot read {} {}", what, path));
  }
  if (!S_ISREG(information.st_mode)) {
    return fail(Code::config, "{} {} is not a file", what, path);
  }
  if (information.st_uid != geteuid()) {
    return fail(Code::authentication, "{} {} belongs to user {}, not to user {}", what, path, information.st_uid,
                geteuid());
  }
  if ((information.st_mode & 077U) != 0) {
    return fail(Code::authentication, "{} {} has mode {:04o}: others may read it; use: chmod 600 {}", what, path,
                information.st_mode & 07777U, path);
  }
  if (information.st_size > static_cast<off_t>(text.bytes.size())) {
    return fail(Code::config, "{} {} is {} bytes long, at most {} are possible", what, path, information.st_size,
                text.bytes.size());
  }
  const auto count =
      os::retry_interrupted([&] { return ::pread(file.number(), text.bytes.data(), text.bytes.size(), 0); });
  if (count < 0) {
    return os::system_failure(errno, fmt::format("cannot read {} {}", what, path));
  }
  text.count = static_cast<std::size_t>(count);
  return {};
}

SecretBytes::~SecretBytes() {
  wipe();
}

void SecretBytes::wipe() noexcept {
  sodium_memzero(bytes_.data(), bytes_.size());
}

Secret random_secret() noexcept {
  COUPLET_ASSERT(sodium_init() >= 0);
  Secret secret;
  randombytes_buf(secret.bytes().data(), secret.bytes().size());
  return secret;
}

Result<Secret> parse_secret(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white_space);
  const std::size_t last = text.find_last_not_of(white_space);
  text = first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
  Secret secret;
  std::size_t bytes = 0;
  const char* end = nullptr;
  if (text.size() != 2 * secret_bytes ||
      sodium_hex2bin(secret.bytes().data(), secret_bytes, text.data(), text.size(), nullptr, &bytes, &end) != 0 ||
      bytes != secret_bytes || end != text.data() + text.size()) {
    return fail(Code::config, "a secret is {} hexadecimal digits and nothing else", 2 * secret_bytes);
  }
  return secret;
}

Result<std::string> secret_path() {
  if (const char* file = std::getenv("COUPLET_SECRET_FILE"); file != nullptr && *file != '\0') {
    return std::string(file);
  }
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder != nullptr && *folder == '/') {
    return std::string(folder) + "/couplet/secret";
  }
  const std::string home = home_directory();
  if (home.empty()) {
    return fail(Code::config,
                "no place for the secret: set COUPLET_SECRET_FILE (HOME and XDG_CONFIG_HOME are not set)");
  }
  return home + "/.config/couplet/secret";
}

Result<Secret> read_secret(const std::string& path) {
  const os::Descriptor file(
      os::retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!file) {
    return os::system_failure(errno, fmt::format("cannot read {} {}", secret_kind, path));
  }
  PrivateText text;
  COUPLET_TRY(read_private(file, path, secret_kind, text));
  auto secret = parse_secret(text.view());
  if (!secret.ok()) {
    return secret.status().within(fmt::format("{} {}", secret_kind, path));
  }
  return secret;
}

Result<Secret> read_or_make_secret(const std::string& path) {
  COUPLET_ASSERT(sodium_init() >= 0);
  auto secret = read_secret(path);
  if (secret.code() != Code::not_found) {
    return secret;
  }
  const auto made = make_private_file(path, random_secret(), secret_kind);
  if (!made.ok() && made.code() != Code::exists) {
    return made.status();
  }
  return read_secret(path);
}

}  // namespace couplet::channel

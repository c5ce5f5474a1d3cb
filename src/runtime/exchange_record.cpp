#include "runtime/exchange_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "os/descriptor.hpp"
#include "os/error.hpp"
#include "os/file_size_limit.hpp"

namespace couplet::runtime {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr mode_t folder_mode = 0777;  // less what the umask takes away, as for a file of the user
constexpr mode_t file_mode = 0666;
// No link of another user is followed, and the open of a pipe does not wait for a reader.
constexpr int file_flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// The number of bytes of the UTF-8 sequence with which `text` begins; 0 if it begins with none.
std::size_t sequence_bytes(std::string_view text) {
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < count) return 0;
  // The second byte rules out longer forms than needed, surrogates, and what is above U+10FFFF.
  const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t place = 2; place < count; ++place) {
    if ((byte(place) & 0xc0) != 0x80) return 0;
  }
  return count;
}

// A name as JSON can hold it: a byte that is not UTF-8, and a backslash, become \xNN. So no two names become one.
std::string escaped(std::string_view name) {
  std::string text;
  for (std::size_t place = 0; place < name.size();) {
    const std::size_t count = sequence_bytes(name.substr(place));
    if (count == 0 || name[place] == '\\') {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[place]));
      ++place;
      continue;
    }
    text += name.substr(place, count);
    place += count;
  }
  return text;
}

OrderedJson peers_of(const exchange::Record& record) {
  OrderedJson peers = OrderedJson::array();
  for (std::size_t port = 0; port < record.ports.size(); ++port) {
    const exchange::Port& plan = record.ports[port];
    if (!plan.sends) continue;
    const exchange::Traffic& traffic = record.traffic[port];
    peers.push_back({{"rank", record.group.peer(plan.peer)},
                     {"plan_bytes", plan.out_bytes},
                     {"messages", traffic.sent_messages},
                     {"bytes", traffic.sent_bytes}});
  }
  return peers;
}

// The members as runs of consecutive ranks, [first, count], so that a line does not grow with a program.
OrderedJson members_of(const message::Group& group) {
  OrderedJson runs = OrderedJson::array();
  std::int64_t first = 0;
  std::int64_t count = 0;
  for (std::int32_t member = 0; member < group.size(); ++member) {
    const std::int64_t rank = group.peer(member);
    if (count > 0 && rank == first + count) {
      ++count;
      continue;
    }
    if (count > 0) runs.push_back({first, count});
    first = rank;
    count = 1;
  }
  runs.push_back({first, count});
  return runs;
}

std::string line_of(const exchange::Record& record, const universe::Membership& membership) {
  OrderedJson programs = OrderedJson::array();
  for (const universe::ProgramInfo& program : membership.programs()) {
    programs.push_back({{"name", escaped(program.name)}, {"size", program.size}, {"first_rank", program.first_rank}});
  }
  const OrderedJson line{{"schema", "couplet.exchange.record"},
                         {"version", 1},
                         {"run", fmt::format("{:016x}", membership.run_id())},
                         {"rank", membership.rank()},
                         {"programs", std::move(programs)},
                         {"title", escaped(record.title)},
                         {"exchange", escaped(record.name)},
                         {"group", escaped(record.group.name())},
                         {"members", members_of(record.group)},
                         {"method", record.method},
                         {"rounds", record.rounds},
                         {"sends", peers_of(record)}};
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + '\n';
}

// Whether the file ends in the middle of a line: a process has died while it wrote.
bool ends_with_half_a_line(int number, off_t size) {
  char last = '\n';
  if (size > 0) static_cast<void>(os::retry_interrupted([&] { return ::pread(number, &last, 1, size - 1); }));
  return last != '\n';
}

// Appends the line in full or not at all.
Status append(const std::string& path, std::string line) {
  const int number = os::retry_interrupted([&] { return ::open(path.c_str(), file_flags, file_mode); });
  if (number < 0) return os::system_failure(errno, fmt::format("cannot open {}", path));
  const os::Descriptor file(number);
  struct stat before {};
  if (::fstat(number, &before) != 0) return os::system_failure(errno, fmt::format("cannot look at {}", path));
  if (!S_ISREG(before.st_mode)) return fail(Code::system, "{} is no regular file", path);
  if (ends_with_half_a_line(number, before.st_size)) line.insert(0, 1, '\n');
  COUPLET_TRY(os::check_file_size(path, static_cast<std::uint64_t>(before.st_size) + line.size()));
  for (std::size_t done = 0; done < line.size();) {
    const auto wrote = os::retry_interrupted([&] { return ::write(number, line.data() + done, line.size() - done); });
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : ENOSPC;
      static_cast<void>(::ftruncate(number, before.st_size));
      return os::system_failure(error, fmt::format("cannot write {}", path));
    }
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

Status prepare(const std::string& folder) {
  constexpr std::string_view right = "it has to be the absolute path of a folder that can be written";
  if (!folder.starts_with('/')) {
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}", folder, right);
  }
  if (::mkdir(folder.c_str(), folder_mode) != 0 && errno != EEXIST) {
    const Status why = os::system_failure(errno, "the folder cannot be made");
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}: {}", folder, right, why.text());
  }
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || ::access(folder.c_str(), W_OK | X_OK) != 0) {
    return fail(Code::config, "setting 'exchange.record' is '{}'; {}", folder, right);
  }
  return {};
}

}  // namespace

Result<ExchangeRecorder> exchange_recorder(const universe::Membership& membership,
                                           std::function<void(const std::string&)> note) {
  const std::string folder = membership.setting("exchange.record");
  if (folder.empty()) return ExchangeRecorder();
  COUPLET_TRY(prepare(folder));
  std::string path = fmt::format("{}/exchanges.{}.jsonl", folder, membership.rank());
  return ExchangeRecorder(
      [&membership, path = std::move(path), note = std::move(note)](const exchange::Record& record) {
        Status written;
        try {
          written = append(path, line_of(record, membership));
        } catch (const std::bad_alloc&) {
          written = Code::memory;
        }
        if (!written.ok()) note(written.within(fmt::format("{} is not recorded", record.title)).text());
      });
}

}  // namespace couplet::runtime

#include "universe/hub/roster.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "os/directory.hpp"
#include "universe/node_directory.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

constexpr std::string_view first_line = "couplet roster 3";
constexpr std::string_view unknown_line = "tickets of before are not known";
constexpr std::size_t max_roster_bytes = std::size_t{256} << 20U;
constexpr unsigned max_rounds = 50;  // of prove(), about 5 s; a dial gives up after 3 s

std::optional<std::string> read_file(const std::string& path) {
  // Opening does not wait, as it would for the other end of a pipe.
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat facts {};
  if (!file || ::fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return std::nullopt;
  }
  std::string text;
  std::array<char, 65536> bytes{};
  while (file && text.size() <= max_roster_bytes) {
    const auto count = ::read(file.number(), bytes.data(), bytes.size());
    if (count == 0) {
      return text;
    }
    if (count > 0) {
      text.append(bytes.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      break;
    }
  }
  return std::nullopt;
}

// Takes the word before the next space, or all of the text.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

template <typename Number>
bool take_number(std::string_view& text, Number& number, int base = 10) {
  const auto word = take_word(text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  return !word.empty() && error == std::errc() && end == word.data() + word.size();
}

bool take_address(std::string_view& text, std::array<std::uint8_t, 16>& address) {
  const auto word = take_word(text);
  for (std::size_t index = 0; index < address.size() && word.size() == 2 * address.size(); ++index) {
    const auto* const digits = word.data() + 2 * index;
    const auto [end, error] = std::from_chars(digits, digits + 2, address[index], 16);
    if (error != std::errc() || end != digits + 2) {
      return false;
    }
  }
  return word.size() == 2 * address.size();
}

std::string address_text(const std::array<std::uint8_t, 16>& address) {
  return fmt::format("{:02x}", fmt::join(address, ""));
}

std::string_view state_word(PeerState state) {
  return state == PeerState::present ? "present" : state == PeerState::left ? "left" : "lost";
}

std::string rank_line(channel::PeerId peer, const EarlierMember& member) {
  return fmt::format("rank {} {} {} {} {}\n", peer, state_word(member.state), member.incarnation,
                     address_text(member.listened_at.address), member.listened_at.port);
}

std::string ticket_line(channel::PeerId peer, std::uint16_t incarnation) {
  return fmt::format("ticket {} {}\n", peer, incarnation);
}

// The ranks as runs: "0+3,7+1", or "-".
std::string runs_text(const std::set<channel::PeerId>& ranks) {
  std::string text;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const auto first = *at;
    std::uint32_t count = 0;
    for (; at != ranks.end() && *at == first + count; ++at) {
      ++count;
    }
    text += fmt::format("{}{}+{}", text.empty() ? "" : ",", first, count);
  }
  return text.empty() ? "-" : text;
}

bool take_runs(std::string_view& text, std::set<channel::PeerId>& ranks) {
  auto word = take_word(text);
  if (word == "-") {
    return true;
  }
  while (!word.empty()) {
    channel::PeerId first = 0;
    std::uint32_t count = 0;
    const auto comma = std::min(word.find(','), word.size());
    const auto run = word.substr(0, comma);
    word.remove_prefix(std::min(comma + 1, word.size()));
    const auto plus = run.find('+');
    auto left = run.substr(0, plus);
    auto right = plus == std::string_view::npos ? std::string_view() : run.substr(plus + 1);
    const bool whole = take_number(left, first) && take_number(right, count) && count > 0 && count <= max_ranks &&
                       first <= UINT32_MAX - count && ranks.size() <= max_ranks;
    if (!whole) {
      return false;
    }
    for (std::uint32_t index = 0; index < count; ++index) {
      ranks.insert(first + index);
    }
  }
  return !ranks.empty();
}

unsigned flags_of(const EarlierSeries& series) {
  return (series.failed ? 1U : 0U) + (series.closed_by_one ? 2U : 0U) + (series.writers_are_known ? 0U : 4U);
}

bool take_flags(std::string_view& text, EarlierSeries& series) {
  unsigned flags = 0;
  const bool whole = take_number(text, flags) && flags < 8;
  series.failed = (flags & 1U) != 0;
  series.closed_by_one = (flags & 2U) != 0;
  series.writers_are_known = (flags & 4U) == 0;
  return whole;
}

std::string series_line(const std::string& name, const EarlierSeries& series) {
  return fmt::format("series {} {} {} {} {}\n", series.creation, series.incarnation, flags_of(series),
                     runs_text(series.writers), name);
}

std::string writer_line(const HubEvent& event) {
  return fmt::format("writer {} {} {} {} {}\n", event.entry.creation, event.peer,
                     event.entry.writers.contains(event.peer) ? 1 : 0, flags_of(event.entry), event.series);
}

std::string complete_lines(const std::vector<ProgramInfo>& programs) {
  std::string lines;
  for (const auto& program : programs) {
    lines += fmt::format("program {} {}\n", program.size, program.name);
  }
  return lines;
}

}  // namespace

void Roster::open(const std::string& directory, bool continues) {
  directory_ = directory;
  path_ = fmt::format("{}/{}", directory, roster_file);
  if (continues) {
    take_file(read_file(path_).value_or(std::string()));
  }
  if (members_.programs.empty()) {  // this hub does not take them either, and so hears of no change to them
    members_.series.clear();
  }
  tried_ = reached_;
  write_anew();
}

EarlierMembers Roster::read(const std::string& directory) {
  Roster roster;
  roster.take_file(read_file(fmt::format("{}/{}", directory, roster_file)).value_or(std::string()));
  return roster.earlier();
}

std::optional<std::vector<PeerRun>> Roster::present(const std::string& directory) {
  Roster roster;
  const auto text = read_file(fmt::format("{}/{}", directory, roster_file));
  roster.take_file(text.value_or(std::string()));
  if (!roster.is_known_) {
    return std::nullopt;
  }
  std::vector<PeerRun> runs;
  for (const auto& [peer, member] : roster.members_.ranks) {
    if (member.state == PeerState::present) {
      runs.push_back({peer, 1, member.state, member.incarnation, unknown_node});
    }
  }
  return runs;
}

void Roster::take_file(const std::string& text) {
  std::string_view rest = text;
  bool known = false;
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end + 1);  // a last line without an end was being written when the hub was killed
    const bool fits = known ? take_line(line) : line == first_line;
    known = fits;
    if (!fits) {
      members_ = {};
      reached_.clear();
      break;
    }
  }
  is_known_ = known;
  knows_tickets_ = known && knows_tickets_;
}

bool Roster::take_line(std::string_view line) {
  if (line == unknown_line) {
    knows_tickets_ = false;
    return true;
  }
  const auto word = take_word(line);
  if (word == "rank") {
    return take_rank(line);
  }
  if (word == "ticket") {
    return take_ticket(line);
  }
  if (word == "series") {
    return take_series(line);
  }
  if (word == "writer") {
    return take_writer(line);
  }
  if (word == "program") {
    ProgramInfo program;
    const bool whole = take_number(line, program.size) && program.size > 0;
    program.name = line;
    members_.programs.push_back(std::move(program));
    return whole;
  }
  Address address{};
  return word == "reached" && take_address(line, address) && (reached_.insert(address), true);
}

bool Roster::take_rank(std::string_view words) {
  channel::PeerId peer = 0;
  EarlierMember member;
  const bool numbered = take_number(words, peer);
  const auto state = take_word(words);
  for (const auto each : {PeerState::present, PeerState::left, PeerState::lost}) {
    member.state = state == state_word(each) ? each : member.state;
  }
  const bool whole = numbered && state == state_word(member.state) && take_number(words, member.incarnation) &&
                     take_address(words, member.listened_at.address) && take_number(words, member.listened_at.port);
  set_rank(peer, member);
  return whole;
}

// A process that has ended, or has a successor, writes nothing any longer.
void Roster::set_rank(channel::PeerId peer, const EarlierMember& member) {
  const auto known = members_.ranks.find(peer);
  const bool same_life = known != members_.ranks.end() && member.state == PeerState::present &&
                         member.incarnation == known->second.incarnation;
  if (!same_life) {
    for (auto& [name, series] : members_.series) {
      series.writers.erase(peer);
    }
  }
  members_.ranks[peer] = member;
}

bool Roster::take_series(std::string_view words) {
  EarlierSeries series;
  const bool whole = take_number(words, series.creation) && take_number(words, series.incarnation) &&
                     take_flags(words, series) && take_runs(words, series.writers) && !words.empty();
  members_.series[std::string(words)] = std::move(series);
  return whole;
}

bool Roster::take_writer(std::string_view words) {
  channel::PeerId peer = 0;
  unsigned writes = 0;
  EarlierSeries now;
  const bool whole = take_number(words, now.creation) && take_number(words, peer) && take_number(words, writes) &&
                     writes < 2 && take_flags(words, now) && !words.empty();
  if (writes == 1) {
    now.writers.insert(peer);
  }
  note_writer(std::string(words), peer, now);
  return whole;
}

void Roster::note_writer(const std::string& name, channel::PeerId peer, const EarlierSeries& now) {
  const auto found = members_.series.find(name);
  if (found == members_.series.end() || found->second.creation != now.creation) {
    return;
  }
  auto& series = found->second;
  series.failed = now.failed;
  series.closed_by_one = now.closed_by_one;
  series.writers_are_known = now.writers_are_known;
  if (now.writers.contains(peer)) {
    series.writers.insert(peer);
  } else {
    series.writers.erase(peer);
  }
}

bool Roster::take_ticket(std::string_view words) {
  channel::PeerId peer = 0;
  std::uint16_t incarnation = 0;
  const bool whole = take_number(words, peer) && take_number(words, incarnation);
  members_.tickets[peer] = incarnation;
  return whole;
}

EarlierMembers Roster::earlier() const {
  EarlierMembers earlier = members_;
  earlier.tickets_are_known = knows_tickets_;
  if (members_.programs.empty()) {
    for (const auto& [peer, member] : members_.ranks) {
      auto& ticket = earlier.tickets[peer];
      ticket = std::max(ticket, member.incarnation);
    }
    earlier.ranks.clear();
    earlier.series.clear();
    return earlier;
  }
  for (auto& [peer, member] : earlier.ranks) {
    if (!reached_.contains(member.listened_at.address)) {
      member.listened_at.port = 0;
    }
  }
  return earlier;
}

void Roster::add(const HubEvent& event) {
  if (event.name == "complete" || event.name == "programs") {
    if (members_.programs.empty()) {
      members_.programs = event.programs;
      queue_ += complete_lines(event.programs);
      lines_ += event.programs.size();
    }
    return;
  }
  if (event.name == "ticket") {
    members_.tickets[event.peer] = static_cast<std::uint16_t>(event.incarnation);
    add_line(ticket_line(event.peer, static_cast<std::uint16_t>(event.incarnation)));
    return;
  }
  if (event.name == "register") {
    members_.series[event.series] = event.entry;
    add_line(series_line(event.series, event.entry));
    return;
  }
  if (event.name == "writer") {
    note_writer(event.series, event.peer, event.entry);
    add_line(writer_line(event));
    return;
  }
  const bool present = event.name == "joined" || event.name == "rejoined";
  const bool left = event.name == "left";
  if (event.peer >= channel::first_relay_peer || (!present && !left && event.name != "lost")) {
    return;
  }
  forget_call(event.peer);
  EarlierMember member;
  member.state = present ? PeerState::present : left ? PeerState::left : PeerState::lost;
  member.incarnation = static_cast<std::uint16_t>(event.incarnation);
  member.listened_at = present ? event.listens_at : os::Endpoint();
  set_rank(event.peer, member);
  add_line(rank_line(event.peer, member));
  if (const auto ticket = members_.tickets.find(event.peer);
      ticket != members_.tickets.end() && ticket->second <= member.incarnation) {
    members_.tickets.erase(ticket);  // the line of the rank says it
  }
  if (member.listened_at.port != 0 && tried_.insert(member.listened_at.address).second) {
    unproven_[event.peer] = {.endpoint = member.listened_at};
  }
}

// The rank is called no longer, so another rank at its address may be.
void Roster::forget_call(channel::PeerId peer) {
  if (const auto found = unproven_.find(peer); found != unproven_.end()) {
    tried_.erase(found->second.endpoint.address);
    unproven_.erase(found);
  }
}

void Roster::tick() {
  if (!file_) write_anew();
  prove();
}

void Roster::prove() {
  std::vector<ListenerCalls::Target> targets;
  for (auto& [peer, call] : unproven_) {
    if (targets.size() < ListenerCalls::max_calls) {
      targets.push_back({peer, call.endpoint});
      ++call.rounds;
    }
  }
  for (const auto& answer : calls_.call(targets)) {
    const Address address = unproven_.at(answer.peer).endpoint.address;
    forget_call(answer.peer);
    if (answer.listens) {
      tried_.insert(address);
      reached_.insert(address);
      add_line(fmt::format("reached {}\n", address_text(address)));
    }
  }
  std::erase_if(unproven_, [](const auto& call) { return call.second.rounds >= max_rounds; });
}

void Roster::add_line(const std::string& line) {
  queue_ += line;
  ++lines_;
}

void Roster::flush() {
  if (queue_.empty() || !file_) {
    queue_.clear();
  } else if (lines_ > 2 * needed_lines() + max_stale_roster_lines ||
             appended_bytes_ + queue_.size() > whole_bytes_ + max_stale_roster_bytes) {
    write_anew();
  } else {
    appended_bytes_ += queue_.size();
    write(std::exchange(queue_, {}));
  }
}

std::string Roster::text() const {
  std::string text = fmt::format("{}\n{}", first_line, complete_lines(members_.programs));
  for (const auto& [peer, member] : members_.ranks) {
    text += rank_line(peer, member);
  }
  for (const auto& [name, series] : members_.series) {
    // Without the ranks the next hub would know nothing, so that series are left out of a file that would be too long.
    const auto line = series_line(name, series);
    text += text.size() + line.size() <= max_roster_bytes / 4 ? line : std::string();
  }
  if (!knows_tickets_) {
    text += fmt::format("{}\n", unknown_line);
  }
  for (const auto& [peer, incarnation] : members_.tickets) {
    text += ticket_line(peer, incarnation);
  }
  for (const auto& address : reached_) {
    text += fmt::format("reached {}\n", address_text(address));
  }
  return text;
}

// Writes all that is known into a new file, which replaces the old one once it is whole.
void Roster::write_anew() {
  const auto made = os::temporary_name(directory_, roster_file);
  queue_.clear();
  lines_ = needed_lines();
  file_ = os::Descriptor(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto all = text();
  whole_bytes_ = all.size();
  appended_bytes_ = 0;
  write(all);
  if (file_ && std::rename(made.c_str(), path_.c_str()) != 0) {
    give_up();
  }
  if (!file_) {
    static_cast<void>(os::remove_file(made));
  }
}

void Roster::write(const std::string& text) {
  std::size_t written = 0;
  while (file_ && written < text.size()) {
    const auto count = ::write(file_.number(), text.data() + written, text.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      file_.close();
    }
  }
  if (!file_) {
    give_up();
  }
}

// A roster that lacks something would mislead the next hub, so it gets none, until a tick can write it as a whole.
void Roster::give_up() {
  file_.close();
  static_cast<void>(os::remove_file(path_));
}

}  // namespace couplet::universe

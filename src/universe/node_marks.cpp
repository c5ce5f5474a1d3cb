#include "universe/node_marks.hpp"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "os/descriptor.hpp"
#include "os/directory.hpp"
#include "os/error.hpp"
#include "os/process_page.hpp"

namespace couplet::universe {
namespace {

constexpr std::string_view page_prefix = "page-";
constexpr std::string_view left_prefix = "left-";
constexpr std::string_view number_prefix = "number-";
constexpr std::string_view epoch_prefix = "epoch-";
constexpr std::size_t number_digits = 4;
constexpr std::size_t peer_digits = 8;
constexpr std::size_t incarnation_digits = 4;

// Reads a number of so many hexadecimal digits from the start of the text.
bool take_number(std::string_view& text, std::size_t digits, std::uint32_t& number) {
  if (text.size() < digits) {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, 16);
  const bool whole = error == std::errc() && end == text.data() + digits;
  text.remove_prefix(digits);
  return whole;
}

const PeerRun* run_of(const std::vector<PeerRun>& runs, channel::PeerId peer) {
  for (const auto& run : runs) {
    if (peer >= run.first && peer - run.first < run.count) {
      return &run;
    }
  }
  return nullptr;
}

// What the lock of a page says of the process that has made it: absent if the page is of another incarnation.
PeerState state_of_page(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation) {
  const auto page = os::PeerPage::open(directory, peer);
  if (!page.ok() || (*page)->header().incarnation != incarnation) {
    return PeerState::absent;
  }
  return (*page)->owner_lives() ? PeerState::present : PeerState::lost;
}

Status make_mark(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file ? Status() : os::system_failure(errno, fmt::format("cannot make {}", path));
}

// Returns the largest number in the names of the marks that begin with `prefix`; nothing if there is no such mark.
std::optional<std::uint16_t> largest_noted(const std::string& directory, std::string_view prefix) {
  std::optional<std::uint16_t> largest;
  const auto names = os::list_directory(directory);
  for (const auto& name : names.ok() ? *names : std::vector<std::string>()) {
    std::string_view rest = name;
    if (!rest.starts_with(prefix)) {
      continue;
    }
    rest.remove_prefix(prefix.size());
    std::uint32_t number = 0;
    if (take_number(rest, number_digits, number) && rest.empty()) {
      largest = std::max(largest.value_or(0), static_cast<std::uint16_t>(number));
    }
  }
  return largest;
}

}  // namespace

Status mark_left(const std::string& directory, channel::PeerId peer, std::uint16_t incarnation) {
  return make_mark(fmt::format("{}/{}{:08x}-{:04x}", directory, left_prefix, peer, incarnation));
}

Status note_number(const std::string& directory, std::uint16_t node) {
  return make_mark(fmt::format("{}/{}{:04x}", directory, number_prefix, node));
}

std::uint16_t noted_number(const std::string& directory) {
  return largest_noted(directory, number_prefix).value_or(unknown_node);
}

std::uint16_t begin_epoch(const std::string& directory) {
  const auto epoch = static_cast<std::uint16_t>(largest_noted(directory, epoch_prefix).value_or(0) + 1);
  static_cast<void>(make_mark(fmt::format("{}/{}{:04x}", directory, epoch_prefix, epoch)));
  return epoch;
}

std::vector<PeerRun> seen_on_node(const std::string& directory, const std::vector<PeerRun>& peers) {
  std::vector<PeerRun> seen;
  const auto names = peers.empty() ? Result<std::vector<std::string>>(Code::not_found) : os::list_directory(directory);
  if (!names.ok()) {
    return seen;
  }
  for (const auto& name : *names) {
    std::string_view rest = name;
    const bool page = rest.starts_with(page_prefix);
    if (!page && !rest.starts_with(left_prefix)) {
      continue;
    }
    rest.remove_prefix(page ? page_prefix.size() : left_prefix.size());
    std::uint32_t peer = 0;
    std::uint32_t incarnation = 0;
    if (!take_number(rest, peer_digits, peer)) {
      continue;
    }
    const auto* const run = run_of(peers, peer);
    if (run == nullptr) {
      continue;
    }
    const bool marked = !page && rest.starts_with('-') &&
                        take_number(rest = rest.substr(1), incarnation_digits, incarnation) &&
                        incarnation == run->incarnation;
    const auto state = marked ? PeerState::left
                       : page ? state_of_page(directory, peer, run->incarnation)
                              : PeerState::absent;
    if (state != PeerState::absent) {
      seen.push_back({peer, 1, state, run->incarnation, run->node});
    }
  }
  return seen;
}

}  // namespace couplet::universe

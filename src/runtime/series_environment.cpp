#include "runtime/series_environment.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "message/courier.hpp"
#include "os/lock.hpp"
#include "os/process_page.hpp"
#include "runtime/node_relay.hpp"
#include "universe/programs.hpp"

namespace couplet::runtime {
namespace {

constexpr std::uint64_t slice_with_messages_ns = 1'000'000;
constexpr std::uint64_t slice_with_window_ns = 100'000;
// The engine checks sockets only now and then.
constexpr int rounds_with_pushes = 16;
constexpr std::uint64_t tidying_interval_ns = 1'000'000'000;

constexpr std::string_view all_streaming = "streaming_bytes";

using universe::PeerState;

bool gone(PeerState state) {
  return state == PeerState::left || state == PeerState::lost;
}

}  // namespace

channel::PeerId SeriesEnvironment::self() const noexcept {
  return static_cast<channel::PeerId>(membership_.rank());
}

std::uint16_t SeriesEnvironment::incarnation() const noexcept {
  return membership_.peer(self()).incarnation;
}

const std::string& SeriesEnvironment::program() const noexcept {
  return membership_.programs()[static_cast<std::size_t>(membership_.program())].name;
}

std::string_view SeriesEnvironment::setting_read(std::string_view key) const {
  const bool is_of_one_series = key.starts_with("series.") && key.ends_with(".streaming_bytes");
  return is_of_one_series && membership_.setting(key).empty() ? all_streaming : key;
}

std::string SeriesEnvironment::setting(std::string_view key) const {
  const std::string_view read = setting_read(key);
  std::string text = membership_.setting(read);
  if (read != all_streaming) return text;
  const auto limit = text.empty() ? cost::streaming_limit(costs_.costs) : std::nullopt;
  return limit ? std::to_string(*limit) : text;
}

Status SeriesEnvironment::alive(channel::PeerId peer, std::uint16_t incarnation) {
  COUPLET_TRY(process_alive(membership_, peer, incarnation));
  if (!membership_.hub().ok()) {
    // The relay of this node hears that the peer has ended, or this process if there is none.
    message::Courier courier(messenger_);
    courier.watch(peer);
    const bool is_gone = courier.is_lost(peer);
    if (is_gone && courier.has_left(peer)) {
      return fail(Code::peer_lost, "{} has left", membership_.peer_name(peer));
    }
    const bool is_far = membership_.peer(peer).node != membership_.node();
    if (is_far && is_gone && !pushes_ && !relay_lives()) {  // nobody could send it another step
      return courier.loss(peer);
    }
  }
  return {};
}

bool SeriesEnvironment::relay_lives() const {
  const channel::PeerId relay = channel::first_relay_peer + membership_.node();
  const auto probe = os::LockProbe::open(os::page_path(membership_.node_directory(), relay));
  return probe.ok() ? (*probe)->held() : probe.code() != Code::not_found;
}

Status SeriesEnvironment::program_alive(std::string_view program) {
  const auto& programs = membership_.programs();
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const auto& info) { return info.name == program; });
  if (found == programs.end()) {
    std::vector<std::string> names;
    names.reserve(programs.size());
    for (const auto& info : programs) names.push_back(info.name);
    return fail(Code::not_found, "there is no program '{}' in this universe; it has {}", program,
                universe::quoted_list(names));
  }
  for (std::int32_t rank = 0; rank < found->size; ++rank) {
    if (!gone(membership_.peer(static_cast<channel::PeerId>(found->first_rank + rank)).state)) {
      return membership_.registry().may_ask("opening a series");
    }
  }
  return fail(Code::peer_lost, "program '{}' has left or is lost", program);
}

Result<std::uint64_t> SeriesEnvironment::between_slices() {
  for (int round = 1; round < (pushes_ ? rounds_with_pushes : 1); ++round) {
    engine_.poll();
  }
  engine_.look_at_all();  // this polls the seldom sources, too, which notice deaths: rounds may be 0.1 s apart here
  if (engine_.interrupted(os::now_ns())) {  // another thread may have its turn inside this call, leave or close
    Status ended = engine::error_of(engine_.ending());
    return ended.ok() ? Status(Code::interrupted) : ended;
  }
  if (window_ != nullptr) {
    window_->progress();
    return slice_with_window_ns;
  }
  return messenger_.pending() > 0 || pushes_ ? slice_with_messages_ns : series::longest_slice_ns;
}

Result<std::unique_ptr<series::Part>> SeriesEnvironment::open_part(const universe::SeriesRecord& record,
                                                                   std::size_t part,
                                                                   const series::PartSelection& selection,
                                                                   std::uint64_t deadline_ns) {
  if (remote_ == nullptr) {
    return fail(Code::unsupported, "series '{}': {} writes on another node, and there are no relays (relay = none)",
                record.name, membership_.peer_name(record.parts[part].writer));
  }
  return remote_->open_part(record, part, selection, deadline_ns);
}

void SeriesEnvironment::Tidying::tick(std::uint64_t now_ns) {
  if (now_ns < next_ns_) {
    return;
  }
  next_ns_ = now_ns + tidying_interval_ns;
  if (environment_.superseded().any_left()) {
    series::remove_superseded_again(environment_);
  }
  if (environment_.remote_ != nullptr) {
    environment_.remote_->send_owed_ends();
  }
}

Status SeriesEnvironment::wait(const std::function<bool()>& done, std::uint64_t until_ns) {
  const Status waited = engine_.wait(done, until_ns, [] { return "steps of another node"; });
  return waited.code() == Code::timeout ? Status() : waited;
}

}  // namespace couplet::runtime

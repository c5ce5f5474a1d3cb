// Frames of the family relay, in any order, between a server with one series and a reader of it. Whatever the input
// sends as a reader or as a relay, a mistake ends the channel with a sentence, and what has arrived is never more than
// was granted.
#include "relay/relay.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <vector>

#include "fuzzing.hpp"
#include "os/clock.hpp"
#include "series/part.hpp"
#include "series/slot_protocol.hpp"

using namespace couplet;
using fuzzing::demand;
using fuzzing::take;
using wire::RelayKind;

namespace {

constexpr std::uint32_t largest_payload = 1U << 12U;
constexpr std::uint64_t slots = 4;
constexpr std::int64_t elements = 32;
constexpr std::size_t step_bytes = elements * sizeof(std::int32_t);

// Frames as the input says, one for each poll. Payloads with a structure are valid ones in which the input changes
// bytes.
class PeerLane final : public fuzzing::InputLane {
 public:
  PeerLane(std::span<const std::byte> bytes, bool reads, const std::string& file)
      : InputLane(bytes, false, largest_payload), reads_(reads), file_(file) {}
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int) override {
    if (input_.empty()) {
      return -1;
    }
    wire::FrameHeader header;
    const auto shape = take<std::uint8_t>(input_);
    const auto kind = static_cast<RelayKind>((shape & 7U) | (reads_ ? 0U : 8U));
    header.kind =
        (shape & 0x80U) != 0 ? static_cast<std::uint8_t>(0x30 | (shape & 0xFU)) : wire::relay_frame_kind(kind);
    header.context = take<std::uint8_t>(input_) % 4U;
    header.tag = take<std::int8_t>(input_);
    header.first = number();
    header.second = number();
    std::vector<std::byte> payload = payload_of(wire::relay_kind_of(header));
    header.sequence = sequence_++;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    static_cast<void>(deliver(receiver, header, payload, (shape & 0x40U) != 0));
    return 1;
  }

 private:
  std::uint64_t number() {
    const auto choice = take<std::uint8_t>(input_);
    return choice < 0xF0 ? choice % 16U : take<std::uint64_t>(input_);
  }
  std::vector<std::byte> payload_of(RelayKind kind) {
    std::vector<std::byte> payload;
    if (kind == RelayKind::subscribe) {
      wire::Subscribe wanted;
      wanted.mode = take<std::uint8_t>(input_) % 2U;
      wanted.window = take<std::uint8_t>(input_);
      wanted.fields = {{0, {0}, {take<std::uint8_t>(input_)}}};
      wanted.file = file_;
      wanted.series = "eta";
      payload = wire::encode_subscribe(wanted);
    } else if (kind == RelayKind::accepted) {
      payload.resize(wire::accepted_bytes);
      wire::encode_accepted({false, number(), step_bytes, 0}, std::span(payload).first<wire::accepted_bytes>());
    } else if (kind == RelayKind::piece || kind == RelayKind::step || kind == RelayKind::refused) {
      payload.resize(std::min<std::size_t>(take<std::uint8_t>(input_), largest_payload));
    }
    for (auto changes = take<std::uint8_t>(input_) % 4U; changes > 0 && !payload.empty(); --changes) {
      payload[take<std::uint8_t>(input_) % payload.size()] = take<std::byte>(input_);
    }
    payload.resize(payload.size() + (take<std::uint8_t>(input_) == 0xFF ? 1 : 0));
    return payload;
  }
  bool reads_;
  std::string file_;
};

// A directory with one written series, made once.
struct Host final : relay::ServerHost {
  Host() {
    char name[] = "/dev/shm/couplet-fuzz-XXXXXX";
    demand(::mkdtemp(name) != nullptr);
    directory = name;
    wire::SeriesGeometry geometry;
    geometry.name = "eta";
    geometry.program = "ocean";
    geometry.fields = {{"", COUPLET_INT32, 4, {elements}, {{{0}, {elements}}}}};
    geometry.slot_count = slots;
    geometry.reader_entries = 2;
    geometry.writer_count = 1;
    file = std::move(series::SeriesFile::create(directory + "/series-eta", geometry)).value();
    for (std::uint64_t ordinal = 0; ordinal < 6; ++ordinal) {
      file->control().claimed.claimed.store(ordinal + 1);
      series::begin_write(file->slot_header(ordinal), ordinal);
      series::end_write(file->slot_header(ordinal), ordinal, static_cast<std::int64_t>(ordinal));
      static_cast<void>(series::publish(file->control().published, ordinal + 1));
    }
  }
  ~Host() override {
    static_cast<void>(file->remove());
    ::rmdir(directory.c_str());
  }
  [[nodiscard]] const std::string& node_directory() const override { return directory; }
  [[nodiscard]] std::string peer_name(channel::PeerId) const override { return "the peer"; }
  [[nodiscard]] bool hub_is_away() const override { return false; }
  Status alive(channel::PeerId, std::uint16_t) override {
    return readers_live ? Status() : fail(Code::peer_lost, "the peer has ended");
  }
  bool readers_live = true;
  std::string directory;
  std::unique_ptr<series::SeriesFile> file;
};

Host& host() {
  static Host made;
  return made;
}

channel::Handlers handlers_of(channel::FrameHandler& handler) {
  channel::Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::relay)] = &handler;
  return handlers;
}

void judge(const channel::Channel& channel) {
  const Code code = channel.failure().code();
  demand(code == Code::ok || code == Code::end || channel.failure().text().find("the peer") != std::string::npos);
}

// The input is what a reader sends to the server of a relay.
void serve(std::span<const std::byte> input) {
  relay::ServerOptions options;
  options.watch = false;
  options.piece_bytes = 48;
  options.most_subscriptions = 3;
  const auto server = std::move(relay::Server::open(host(), options)).value();
  relay::Dispatch dispatch(server.get(), nullptr);
  channel::Channel channel(1, "the peer", handlers_of(dispatch));
  channel.attach(std::make_unique<PeerLane>(input, true, "series-eta"));
  while (channel.poll(1) > 0 || !channel.settled()) {
    server->poll(8);
  }
  server->poll(8);
  judge(channel);
  demand(server->subscriptions() == 0);
  host().readers_live = false;
  server->tick();
  host().readers_live = true;
  for (std::uint32_t index = 0; index < host().file->reader_entries();
       ++index) {  // holds end with the reader's process
    const auto state = series::owner_of(host().file->readers()[index]).state;
    demand(state == wire::ReaderState::free);
  }
}

// The process of a reader. The input is what its relay sends.
class Elsewhere final : public series::Environment, public message::Channels, public universe::SeriesRegistry {
 public:
  explicit Elsewhere(std::span<const std::byte> input)
      : remote_(*this, static_cast<message::Channels&>(*this), {.buffer_bytes = 4096 * slots, .patience_ns = 1}),
        dispatch_(nullptr, &remote_),
        channel_(channel::first_relay_peer, "the peer", handlers_of(dispatch_)) {
    channel_.attach(std::make_unique<PeerLane>(input, false, "series-eta"));
  }
  void run() {
    universe::SeriesRecord record;
    record.name = "eta";
    record.fields = {{"", COUPLET_INT32, {elements}}};
    record.slots = slots;
    layout::Box box;
    box.dimensions = 1;
    box.stop[0] = elements;
    record.parts = {{0, 0, 0, {{box}}, "series-eta"}};
    series::PartSelection wanted;
    wanted.fields = {{0, {box}}};
    wanted.mode = series::Mode::follow;
    const auto part = remote_.open_part(record, 0, wanted, os::never);
    const bool open = part.ok() && (*part)->finish_opening(os::never).ok();
    while (channel_.poll(1) > 0 || !channel_.settled()) {
    }
    judge(channel_);
    if (open) {
      auto& file = (*part)->file();
      const std::uint64_t end = file.control().published.published.load();
      demand(end >= (*part)->first_ordinal() && (*part)->published() >= end);
      for (std::uint64_t ordinal = end - std::min(end, slots); ordinal < end; ++ordinal) {
        static_cast<void>(series::read_step(file.slot_header(ordinal), ordinal));
      }
    }
  }

  [[nodiscard]] channel::PeerId self() const noexcept override { return 1; }
  [[nodiscard]] std::uint16_t incarnation() const noexcept override { return 0; }
  [[nodiscard]] const std::string& program() const noexcept override { return host().directory; }
  [[nodiscard]] std::uint16_t node() const noexcept override { return 1; }
  [[nodiscard]] const std::string& node_directory() const noexcept override { return host().directory; }
  [[nodiscard]] std::string peer_name(channel::PeerId) const override { return "the peer"; }
  [[nodiscard]] std::string setting(std::string_view) const override { return {}; }
  [[nodiscard]] universe::SeriesRegistry& registry() noexcept override { return *this; }
  Status alive(channel::PeerId, std::uint16_t) override { return {}; }
  Status program_alive(std::string_view) override { return {}; }
  Result<std::uint64_t> between_slices() override { return series::longest_slice_ns; }
  [[nodiscard]] std::uint64_t spin_ns() const noexcept override { return 0; }
  Result<std::unique_ptr<series::Part>> open_part(const universe::SeriesRecord&, std::size_t,
                                                  const series::PartSelection&, std::uint64_t) override {
    return Code::unsupported;
  }
  // Waits until the input has ended.
  Status wait(const std::function<bool()>& done, std::uint64_t) override {
    while (!done() && (channel_.poll(1) > 0 || !channel_.settled())) {
    }
    return {};
  }
  Result<channel::Channel*> channel_to(channel::PeerId) override { return &channel_; }

  Result<universe::SeriesRecord> announce(const universe::SeriesRecord&, std::uint64_t) override {
    return Code::not_yet;
  }
  Result<universe::SeriesRecord> find(const std::string&, std::int64_t, std::uint64_t) override {
    return Code::not_yet;
  }
  Status writer_closed(const std::string&, std::uint64_t) override { return {}; }
  Status reader_opened(const std::string&, std::uint64_t, const universe::OpenerRanks&, std::uint64_t) override {
    return {};
  }
  void withdraw(const std::string&, std::uint64_t, std::uint64_t) override {}
  Status reader_closed(const std::string&, std::uint64_t) override { return {}; }
  Result<channel::PeerId> relay_of(std::uint16_t, std::uint64_t) override { return channel::first_relay_peer; }

 private:
  relay::Remote remote_;
  relay::Dispatch dispatch_;
  channel::Channel channel_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = std::as_bytes(std::span(data, size));
  static_cast<void>(wire::decode_subscribe(input));
  static_cast<void>(wire::decode_accepted(input));
  if ((take<std::uint8_t>(input) & 1U) != 0) {
    serve(input);
  } else {
    Elsewhere(input).run();
  }
  return 0;
}

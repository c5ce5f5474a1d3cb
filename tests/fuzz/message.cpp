// A peer that sends any frames of the family message, in any order, between any sends and receives of this side. Every
// request ends, and a mistake of the peer is an error that names it. The input can also choose valid and known cookies.
#include "message/message.hpp"

#include <array>
#include <memory>
#include <vector>

#include "fuzzing.hpp"

using namespace couplet;
using fuzzing::demand;
using fuzzing::take;
using message::Messenger;
using message::Request;

namespace {

constexpr std::uint32_t largest_payload = 1U << 14U;
constexpr std::size_t buffer_bytes = 100'000;
constexpr const char* peer_name = "program 'ocean' rank 1";

// The frames of one peer, one for each poll, as the input says.
class PeerLane final : public fuzzing::InputLane {
 public:
  PeerLane(std::span<const std::byte> bytes, bool checked, std::uint32_t universe_context)
      : InputLane(bytes, checked, largest_payload), universe_context_(universe_context) {}

  [[nodiscard]] std::int64_t push(const wire::FrameHeader& header, std::span<const std::byte> payload,
                                  std::uint64_t taken) override {
    cookies_[pushed_++ % cookies_.size()] = header.second;
    cookies_[pushed_++ % cookies_.size()] = header.first;
    return InputLane::push(header, payload, taken);
  }
  [[nodiscard]] int poll(link::FrameReceiver& receiver, int) override {
    if (input_.empty()) {
      return -1;
    }
    wire::FrameHeader header;
    const auto shape = take<std::uint8_t>(input_);
    header.kind =
        wire::frame_kind((shape & 0x80U) != 0 ? wire::FrameFamily::relay : wire::FrameFamily::message, shape & 0xFU);
    header.tag = take<std::int8_t>(input_);
    header.context = (shape & 0x40U) != 0 ? take<std::uint32_t>(input_) : universe_context_;
    header.first = number();
    header.second = number();
    const std::size_t wanted = std::min<std::size_t>(take<std::uint16_t>(input_), largest_payload);
    std::vector<std::byte> payload(
        input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(input_.size(), 40)));
    input_ = input_.subspan(std::min(payload.size(), wanted));
    payload.resize(wanted);
    header.sequence = sequence_++;
    header.payload_bytes = static_cast<std::uint32_t>(wanted);
    if (traits_.checked) {
      wire::seal_frame(header, payload, wanted <= traits_.checked_payload_bytes);
    }
    static_cast<void>(deliver(receiver, header, payload, wanted > link::most_unplaced_bytes));
    return 1;
  }

 private:
  // Returns a small number, one that was sent to the peer, the length of a message, or any number.
  std::uint64_t number() {
    const auto choice = take<std::uint8_t>(input_);
    switch (choice >> 6U) {
      case 0:
        return choice;
      case 1:
        return cookies_[choice % cookies_.size()];
      case 2:
        return std::uint64_t{1} << (choice & 0x3FU);
      default:
        return take<std::uint64_t>(input_);
    }
  }
  std::uint32_t universe_context_;
  std::array<std::uint64_t, 16> cookies_{};
  std::size_t pushed_ = 0;
};

// Two ranks: this one, 0, and the peer, 1.
struct Ends final : message::Channels {
  Result<channel::Channel*> channel_to(channel::PeerId peer) override {
    if (peer != 1 || channel == nullptr) {
      return fail(Code::unsupported, "there is no channel to rank {}", peer);
    }
    return channel.get();
  }
  std::string peer_name(channel::PeerId) const override { return ::peer_name; }
  std::unique_ptr<channel::Channel> channel;
};

// The requests of this side, each with a buffer of its own.
class Requests {
 public:
  explicit Requests(Messenger& messenger) : messenger_(messenger) {}

  void start(std::uint8_t choice) {
    const std::size_t bytes = (choice & 1U) != 0 ? buffer_bytes : (choice & 2U) != 0 ? 3000 : 16;
    const std::int32_t tag = (choice >> 2U) & 3U;
    buffers_.emplace_back(bytes);
    Request* request = nullptr;
    const couplet_type type = (choice & 16U) != 0 ? COUPLET_DOUBLE : COUPLET_BYTE;
    const std::size_t count = bytes / couplet_type_bytes(type);
    message::Group& group = messenger_.groups().universe();
    const Status status =
        (choice & 32U) != 0
            ? messenger_.isend(group, buffers_.back().data(), count, type, 1, tag, &request)
            : messenger_.irecv(group, buffers_.back().data(), count, type, (choice & 64U) != 0 ? COUPLET_ANY_SOURCE : 1,
                               (choice & 128U) != 0 ? COUPLET_ANY_TAG : tag, &request);
    judge(status);
    if (request != nullptr) {
      pending_.push_back(request);
    }
  }
  // Checks what is done. Returns true if nothing is pending.
  bool collect() {
    std::erase_if(pending_, [&](Request*& request) {
      couplet_message message{};
      const Status status = messenger_.test(&request, &message);
      if (status.code() != Code::not_yet) {
        judge(status);
      }
      return request == nullptr;
    });
    return pending_.empty();
  }

 private:
  static void judge(const Status& status) {
    const bool of_peer = status.code() == Code::peer_lost || status.code() == Code::protocol ||
                         status.code() == Code::limit || status.code() == Code::truncated;
    demand(!of_peer || status.text().find(peer_name) != std::string::npos);
  }
  Messenger& messenger_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<Request*> pending_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto input = std::as_bytes(std::span(data, size));
  const auto mode = take<std::uint8_t>(input);
  std::array<std::uint8_t, 12> choices = take<std::array<std::uint8_t, 12>>(input);
  message::MessengerOptions options;
  options.payload_credit_bytes = 20'000;
  options.envelope_limit = 8;
  // It would read another process by its number, which is not tested here.
  options.read_memory = false;
  options.foreign_byte_order = (mode & 2U) != 0;
  Ends ends;
  Messenger messenger(ends, nullptr, 0, 2, options);
  channel::Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &messenger.handler();
  ends.channel = std::make_unique<channel::Channel>(1, peer_name, handlers);
  ends.channel->attach(std::make_unique<PeerLane>(input, (mode & 1U) != 0, messenger.groups().universe().context()));
  Requests requests(messenger);
  std::size_t next = 0;
  do {  // a request of ours, then a frame of the peer
    if (next < choices.size()) {
      requests.start(choices[next++]);
    }
    static_cast<void>(requests.collect());
  } while (ends.channel->poll(1) > 0 || !ends.channel->settled());
  demand(requests.collect() && messenger.pending() == 0);
  return 0;
}

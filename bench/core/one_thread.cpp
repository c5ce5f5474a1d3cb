// Measures what one message costs the processor on each side of a channel over tcp. Both ends are in one thread, so
// nothing waits, and the figures hold on a busy machine, too. Prints one JSON object for each case: `send_us` and
// `receive_us` for a message, and as limits what its parts take alone: `copy_us` for a memcpy into warm memory,
// `seal_us` for the cipher. Usage: one_thread [case ...]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "link/tcp/tcp_lane.hpp"
#include "os/clock.hpp"
#include "os/socket.hpp"
#include "tcp_pair.hpp"
#include "wire/seal.hpp"

namespace {

using namespace couplet;
using couplet::bench::give_up;
using couplet::bench::must;
using couplet::bench::tcp_pair;

constexpr int samples = 300;
constexpr int buffers = 4;
constexpr std::uint8_t message_kind = wire::frame_kind(wire::FrameFamily::message, 1);
// The text in each record of a long payload (link/tcp/record_writer.hpp).
constexpr std::size_t record_text_bytes = 63U << 10U;

// The smallest tenth of the samples is less than this. What others do on the machine only makes samples longer.
double low_us(std::vector<std::uint64_t>& samples_ns) {
  std::sort(samples_ns.begin(), samples_ns.end());
  return 1e-3 * static_cast<double>(samples_ns[samples_ns.size() / 10]);
}

// Runs `action` and adds its time to `total_ns`.
template <typename Action>
void timed(std::uint64_t& total_ns, const Action& action) {
  const std::uint64_t begin_ns = os::now_ns();
  action();
  total_ns += os::now_ns() - begin_ns;
}

// Takes messages into `buffers` places, one after the other.
class Taker final : public channel::FrameHandler {
 public:
  explicit Taker(std::size_t bytes) : bytes_(bytes), memory_(buffers * bytes, std::byte{1}) {}
  std::byte* place(channel::Channel& /*channel*/, const wire::FrameHeader& /*header*/) override { return buffer(); }
  Status arrived(channel::Channel& /*channel*/, const wire::FrameHeader& /*header*/,
                 std::span<const std::byte> payload) override {
    if (payload.data() != buffer()) {
      std::memcpy(buffer(), payload.data(), payload.size());
    }
    ++count_;
    return {};
  }
  void lost(channel::Channel& /*channel*/, const Status& why) override { give_up(why.text()); }
  [[nodiscard]] std::byte* buffer() noexcept { return memory_.data() + count_ % buffers * bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  std::size_t bytes_;
  std::size_t count_ = 0;
  std::vector<std::byte> memory_;
};

struct Case {
  std::string name;
  std::size_t bytes = 0;
  bool sessions = false;
  bool encrypted = false;
};

channel::Handlers handlers_for(Taker& taker) {
  channel::Handlers handlers{};
  handlers[static_cast<std::size_t>(wire::FrameFamily::message)] = &taker;
  return handlers;
}

channel::ChannelOptions options_for(const Case& one, std::uint64_t session) {
  channel::ChannelOptions options;
  options.session = one.sessions ? session : 0;
  return options;
}

std::optional<link::SessionKeys> keys_for(const Case& one, bool first) {
  if (!one.encrypted) {
    return std::nullopt;
  }
  link::SessionKeys keys{.cipher = wire::Cipher::aes256_gcm};
  keys.send.fill(first ? 1 : 2);
  keys.receive.fill(first ? 2 : 1);
  return keys;
}

// The two ends of a connection.
struct Ends {
  explicit Ends(const Case& one)
      : at_sender(one.bytes),
        at_receiver(one.bytes),
        sender(1, "the receiver", handlers_for(at_sender), options_for(one, 1)),
        receiver(0, "the sender", handlers_for(at_receiver), options_for(one, 2)) {
    auto [client, server] = tcp_pair();
    sender.attach(must(link::make_tcp_lane(std::move(client), {}, keys_for(one, true))));
    receiver.attach(must(link::make_tcp_lane(std::move(server), {}, keys_for(one, false))));
    for (int round = 0; round < 64; ++round) {  // the session frames
      sender.poll(1);
      receiver.poll(1);
    }
  }
  Taker at_sender;
  Taker at_receiver;
  channel::Channel sender;
  channel::Channel receiver;
};

void print_limits(const Case& one, const std::vector<std::byte>& payloads) {
  std::vector<std::uint64_t> copies;
  std::vector<std::uint64_t> seals;
  std::vector<std::byte> warm(buffers * one.bytes, std::byte{1});
  std::vector<std::byte> record(wire::record_bytes);
  const auto seal = one.encrypted ? must(wire::RecordSeal::make(wire::Cipher::aes256_gcm, {})) : nullptr;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t offset = sample % buffers * one.bytes;
    timed(copies.emplace_back(0), [&] { std::memcpy(warm.data() + offset, payloads.data() + offset, one.bytes); });
    for (std::size_t at = 0; seal != nullptr && at < one.bytes; at += record_text_bytes) {
      const auto text = std::span(payloads).subspan(offset + at, std::min(record_text_bytes, one.bytes - at));
      timed(at == 0 ? seals.emplace_back(0) : seals.back(), [&] { seal->seal(text, record.data()); });
    }
  }
  std::printf(", \"copy_us\": %.3f", low_us(copies));
  if (seal != nullptr) {
    std::printf(", \"seal_us\": %.3f", low_us(seals));
  }
}

void run(const Case& one) {
  Ends ends(one);
  const std::vector<std::byte> payloads(buffers * one.bytes, std::byte{1});
  const std::size_t messages = one.bytes <= 4096 ? 128 : 16;
  std::vector<std::uint64_t> sends;
  std::vector<std::uint64_t> receives;
  for (int sample = 0; sample < samples; ++sample) {
    std::uint64_t send_ns = 0;
    std::uint64_t receive_ns = 0;
    for (std::size_t message = 0; message < messages; ++message) {
      channel::Outgoing outgoing;
      bool finished = false;
      outgoing.owner = &finished;
      outgoing.finished = [](channel::Outgoing& sent, const Status& /*status*/) {
        *static_cast<bool*>(sent.owner) = true;
      };
      outgoing.header.kind = message_kind;
      outgoing.payload = std::span(payloads).subspan(message % buffers * one.bytes, one.bytes);
      const std::size_t due = ends.at_receiver.count() + 1;
      timed(send_ns, [&] {
        if (one.bytes <= channel::Channel::try_send_bytes) {
          finished = ends.sender.try_send(outgoing.header, outgoing.payload);
        }
        if (!finished) {
          ends.sender.send(outgoing);
        }
      });
      while (!finished || ends.at_receiver.count() < due) {
        timed(receive_ns, [&] { ends.receiver.poll(1); });
        timed(send_ns, [&] { finished ? 0 : ends.sender.poll(1); });
      }
    }
    sends.push_back(send_ns / messages);
    receives.push_back(receive_ns / messages);
  }
  std::printf("{\"bench\": \"one_thread\", \"case\": \"%s\", \"send_us\": %.3f, \"receive_us\": %.3f", one.name.c_str(),
              low_us(sends), low_us(receives));
  print_limits(one, payloads);
  std::printf("}\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  std::vector<Case> cases;
  for (const auto& [size_name, bytes] : {std::pair("8B", std::size_t{8}), std::pair("64KiB", std::size_t{64} << 10),
                                         std::pair("1MiB", std::size_t{1} << 20)}) {
    const std::string name = std::string("tcp/") + size_name;
    cases.push_back({.name = name + "+nosessions", .bytes = bytes});
    cases.push_back({.name = name, .bytes = bytes, .sessions = true});
    if (wire::cipher_available(wire::Cipher::aes256_gcm)) {
      cases.push_back({.name = name + "+encrypted", .bytes = bytes, .sessions = true, .encrypted = true});
    }
  }
  for (const Case& one : cases) {
    const auto matches = [&one](const std::string& part) { return one.name.find(part) != std::string::npos; };
    if (wanted.empty() || std::any_of(wanted.begin(), wanted.end(), matches)) {
      run(one);
    }
  }
  return 0;
}

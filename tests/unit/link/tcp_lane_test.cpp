#include "link/tcp/tcp_lane.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "lane_tests.hpp"
#include "os/clock.hpp"
#include "os/reset.hpp"
#include "support/child.hpp"

namespace couplet::link {
namespace {

using test::eventually;

constexpr TcpOptions options{.largest_payload = 1U << 20U};

struct Sockets {
  os::Descriptor client;
  os::Descriptor server;
};

Sockets connected(const char* address = "127.0.0.1:0") {
  Sockets sockets;
  auto endpoint = os::resolve(address);
  EXPECT_TRUE(endpoint.ok());
  auto listener = TcpListener::open(*endpoint);
  EXPECT_TRUE(listener.ok()) << listener.status().text();
  EXPECT_EQ((*listener)->accept().code(), Code::not_yet);
  auto connector = TcpConnector::open((*listener)->endpoint());
  EXPECT_TRUE(connector.ok()) << connector.status().text();
  EXPECT_TRUE(eventually([&] {
    auto socket = (*connector)->poll();
    if (socket.ok()) {
      sockets.client = std::move(*socket);
    }
    return socket.ok();
  }));
  EXPECT_TRUE(eventually([&] {
    auto socket = (*listener)->accept();
    if (socket.ok()) {
      sockets.server = std::move(*socket);
    }
    return socket.ok();
  }));
  return sockets;
}

struct TcpPair {
  explicit TcpPair(const std::optional<SessionKeys>& keys = std::nullopt) {
    Sockets sockets = connected();
    auto reversed = keys;
    if (keys) {
      std::swap(reversed->send, reversed->receive);
    }
    client = make_tcp_lane(std::move(sockets.client), options, keys).value();
    server = make_tcp_lane(std::move(sockets.server), options, reversed).value();
  }
  std::unique_ptr<Lane> client;
  std::unique_ptr<Lane> server;
};

SessionKeys keys_for(wire::Cipher cipher) {
  SessionKeys keys{.cipher = cipher};
  keys.send.fill(7);
  keys.receive.fill(9);
  return keys;
}

// Polls until something arrives or the lane fails.
int poll_until(Lane& lane, FrameReceiver& receiver) {
  int answer = 0;
  EXPECT_TRUE(eventually([&] { return (answer = lane.poll(receiver, 64)) != 0; }));
  return answer;
}

TEST(TcpLane, FramesOfAllSizesArrivePlacedOrNot) {
  TcpPair pair;
  EXPECT_TRUE(pair.client->traits().checked);
  EXPECT_GE(pair.client->descriptor(), 0);
  expect_all_arrive(*pair.client, *pair.server, true, 300);
  expect_all_arrive(*pair.server, *pair.client, false, 300, 1);
}

TEST(TcpLane, EncryptedFramesOfAllSizesArrive) {
  for (const auto cipher : {wire::Cipher::aes256_gcm, wire::Cipher::chacha20_poly1305}) {
    if (!wire::cipher_available(cipher)) {
      std::printf("  SKIPPED cipher %d: not with this processor\n", static_cast<int>(cipher));
      continue;
    }
    TcpPair pair(keys_for(cipher));
    expect_all_arrive(*pair.client, *pair.server, true, 200);
    expect_all_arrive(*pair.server, *pair.client, false, 200, 1);
  }
}

TEST(TcpLane, HowMuchIsSummedIsAnOption) {
  Sockets sockets = connected();
  EXPECT_EQ(make_tcp_lane(std::move(sockets.client)).value()->traits().checked_payload_bytes, 4096U);
  TcpOptions all;
  all.checked_payload_bytes = UINT32_MAX;
  EXPECT_EQ(make_tcp_lane(std::move(sockets.server), all).value()->traits().checked_payload_bytes, UINT32_MAX);
}

TEST(TcpLane, ShutEndsAfterAllThatWasSent) {
  for (const bool encrypted : {false, true}) {
    TcpPair pair(encrypted ? std::optional(keys_for(wire::Cipher::chacha20_poly1305)) : std::nullopt);
    Sending sending;
    for (std::uint32_t number = 0; number < 3; ++number) {
      sending.begin(number, 5000);
      ASSERT_EQ(sending.push(*pair.client), 1);
    }
    pair.client->shut();
    EXPECT_EQ(sending.push(*pair.client), -1);
    EXPECT_EQ(pair.client->failure().code(), Code::state);
    CheckingReceiver receiver(true);
    ASSERT_TRUE(eventually([&] { return pair.server->poll(receiver, 2) < 0; }));
    EXPECT_EQ(receiver.frames, 3U);
    EXPECT_TRUE(receiver.good);
    EXPECT_EQ(pair.server->failure().code(), Code::end) << encrypted << pair.server->failure().text();
  }
}

TEST(TcpLane, ACrashedPeerIsLostNotEnded) {
  Sockets sockets = connected();
  auto lane = make_tcp_lane(std::move(sockets.server), options).value();
  sockets.client.close();
  CheckingReceiver receiver(true);
  EXPECT_EQ(poll_until(*lane, receiver), -1);
  EXPECT_EQ(lane->failure().code(), Code::peer_lost);
}

// The system tells the reset to the call that sends; after that, receiving shows an end as of a closed connection.
TEST(TcpLane, AResetThatOnlySendingHasSeenIsNotTakenForAnEnd) {
  Sockets sockets = connected();
  auto lane = make_tcp_lane(std::move(sockets.server), options).value();
  os::abort_on_close(sockets.client);
  sockets.client.close();
  pollfd entry{lane->descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  Sending sending;
  sending.begin(0, 100);
  EXPECT_EQ(sending.push(*lane), 0);
  CheckingReceiver receiver(true);
  EXPECT_EQ(poll_until(*lane, receiver), -1);
  EXPECT_TRUE(os::says_reset(lane->failure())) << lane->failure().text();
}

TEST(TcpLane, ACrashInsideAFrameIsALostPeerAndWhatCameBeforeIsDelivered) {
  Sockets sockets = connected();
  auto lane = make_tcp_lane(std::move(sockets.server), options).value();
  {
    auto sender = make_tcp_lane(os::Descriptor(::dup(sockets.client.number())), options).value();
    Sending sending;
    sending.begin(0, 100);
    ASSERT_EQ(sending.push(*sender), 1);
    std::byte image[wire::frame_header_bytes];
    wire::encode_frame(header_of(1, 1000), std::span<std::byte, wire::frame_header_bytes>(image));
    ASSERT_TRUE(os::send_some(sockets.client, image, sizeof image).ok());
    ::shutdown(sockets.client.number(), SHUT_RDWR);
  }
  CheckingReceiver receiver(true);
  EXPECT_EQ(poll_until(*lane, receiver), 1);
  EXPECT_EQ(poll_until(*lane, receiver), -1);
  EXPECT_EQ(lane->failure().code(), Code::peer_lost);
  EXPECT_NE(lane->failure().text().find("inside a frame"), std::string::npos);
}

TEST(TcpLane, GarbageIsAProtocolFailure) {
  for (const bool encrypted : {false, true}) {
    Sockets sockets = connected();
    auto keys = encrypted ? std::optional(keys_for(wire::Cipher::chacha20_poly1305)) : std::nullopt;
    auto lane = make_tcp_lane(std::move(sockets.server), options, keys).value();
    const std::string garbage(300, 'x');
    ASSERT_TRUE(os::send_some(sockets.client, garbage.data(), garbage.size()).ok());
    CheckingReceiver receiver(true);
    EXPECT_EQ(poll_until(*lane, receiver), -1);
    EXPECT_EQ(lane->failure().code(), Code::protocol) << lane->failure().text();
  }
}

TEST(TcpLane, AFrameAboveTheLimitIsRefused) {
  Sockets sockets = connected();
  auto lane = make_tcp_lane(std::move(sockets.server), options).value();
  std::byte image[wire::frame_header_bytes];
  wire::encode_frame(header_of(0, options.largest_payload + 1), std::span<std::byte, wire::frame_header_bytes>(image));
  ASSERT_TRUE(os::send_some(sockets.client, image, sizeof image).ok());
  CheckingReceiver receiver(true);
  EXPECT_EQ(poll_until(*lane, receiver), -1);
  EXPECT_EQ(lane->failure().code(), Code::protocol);
}

TEST(TcpLane, ARecordThatIsChangedOrRepeatedDoesNotOpen) {
  const wire::SealKey key{1, 2, 3};
  for (const auto cipher : {wire::Cipher::aes256_gcm, wire::Cipher::chacha20_poly1305}) {
    if (!wire::cipher_available(cipher)) {
      continue;
    }
    auto plain = payload_of(1000, 1);
    std::vector<std::byte> record(wire::record_bytes);
    std::vector<std::byte> opened(wire::record_plain_bytes);
    for (const std::size_t damaged : {std::size_t{1}, std::size_t{4}, std::size_t{700}, std::size_t{1019}}) {
      auto seal = wire::RecordSeal::make(cipher, key).value();
      auto open = wire::RecordSeal::make(cipher, key).value();
      const std::size_t bytes = seal->seal(plain, record.data());
      ASSERT_EQ(bytes, 1020U);
      record[damaged] ^= std::byte{1};
      EXPECT_EQ(open->open({record.data(), bytes}, opened.data()).code(), Code::protocol);
    }
    auto seal = wire::RecordSeal::make(cipher, key).value();
    auto open = wire::RecordSeal::make(cipher, key).value();
    const std::size_t bytes = seal->seal(plain, record.data());
    auto once = open->open({record.data(), bytes}, opened.data());
    ASSERT_TRUE(once.ok());
    EXPECT_EQ(*once, plain.size());
    EXPECT_EQ(std::memcmp(opened.data(), plain.data(), plain.size()), 0);
    EXPECT_EQ(open->open({record.data(), bytes}, opened.data()).code(), Code::protocol);
  }
  const std::byte too_long[4] = {std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0}};
  EXPECT_EQ(wire::RecordSeal::record_length(too_long).code(), Code::protocol);
  const std::byte too_short[4] = {std::byte{16}, std::byte{0}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(wire::RecordSeal::record_length(too_short).code(), Code::protocol);
}

// Somebody on the network changes a byte of a payload whose sum is not checked. The keys are those of a channel that is
// authenticated, and whose frames can be read on the way.
TEST(TcpLane, AnAuthenticatedFrameThatIsChangedOnTheWayIsRefused) {
  if (!wire::cipher_available(wire::Cipher::aes256_gmac)) {
    std::printf("  SKIPPED: this processor has no AES for authenticated frames\n");
    return;
  }
  for (const bool changes : {false, true}) {
    Sockets near = connected();
    Sockets far = connected();
    const SessionKeys keys = keys_for(wire::Cipher::aes256_gmac);
    SessionKeys reversed = keys;
    std::swap(reversed.send, reversed.receive);
    auto sender = make_tcp_lane(std::move(near.client), options, keys).value();
    auto receiving = make_tcp_lane(std::move(far.server), options, reversed).value();
    Sending sending;
    sending.begin(0, 40'000);
    ASSERT_EQ(sending.push(*sender), 1);
    sender->shut();
    std::vector<char> passed;
    char block[4096];
    while (true) {
      pollfd entry{near.server.number(), POLLIN, 0};
      ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
      const ssize_t bytes = ::recv(near.server.number(), block, sizeof block, 0);
      if (bytes <= 0) break;
      passed.insert(passed.end(), block, block + bytes);
    }
    ASSERT_GT(passed.size(), 40'000U);
    // What the payload holds is on the network as it is: it is authenticated, and not encrypted.
    const auto content = payload_of(40'000, 0);
    const auto place = std::search(passed.begin(), passed.end(), reinterpret_cast<const char*>(content.data()) + 20'000,
                                   reinterpret_cast<const char*>(content.data()) + 20'100);
    ASSERT_NE(place, passed.end());
    if (changes) *place = static_cast<char>(*place ^ 1);
    ASSERT_EQ(::send(far.client.number(), passed.data(), passed.size(), 0), static_cast<ssize_t>(passed.size()));
    CheckingReceiver receiver(true);
    EXPECT_EQ(poll_until(*receiving, receiver), changes ? -1 : 1);
    if (changes) {
      EXPECT_EQ(receiver.frames, 0U);
      EXPECT_EQ(receiving->failure().code(), Code::protocol) << receiving->failure().text();
    } else {
      EXPECT_TRUE(receiver.good);
    }
  }
}

TEST(TcpLane, BytesThatCameWithTheHandshakeAreTheFirstFrames) {
  Sockets sockets = connected();
  std::vector<std::byte> early(wire::frame_header_bytes + 20);
  wire::encode_frame(header_of(0, 20),
                     std::span<std::byte, wire::frame_header_bytes>(early.data(), wire::frame_header_bytes));
  const auto payload = payload_of(20, 0);
  std::memcpy(early.data() + wire::frame_header_bytes, payload.data(), payload.size());
  auto lane = make_tcp_lane(std::move(sockets.server), options, std::nullopt, early).value();
  EXPECT_TRUE(lane->readable());
  CheckingReceiver receiver(true);
  EXPECT_EQ(lane->poll(receiver, 8), 1);
  EXPECT_TRUE(receiver.good);
  EXPECT_FALSE(lane->readable());
  const std::vector<std::byte> too_much(1U << 20U);
  EXPECT_EQ(make_tcp_lane(os::Descriptor(), options, std::nullopt, too_much).code(), Code::limit);
}

// The client has sent until nothing further was taken. Its last frame was taken in part.
struct FullSocket {
  FullSocket() {
    for (; answer == 1 && number < 1000; ++number) {
      sending.begin(number, 1U << 20U);
      answer = sending.push(*pair.client);
    }
  }
  void expect_all_to_arrive() {
    CheckingReceiver receiver(true);
    EXPECT_TRUE(eventually([&] {
      static_cast<void>(pair.server->poll(receiver, 4));
      if (answer == 0) {
        answer = sending.push(*pair.client);
      }
      return receiver.frames == number || answer < 0;
    }));
    EXPECT_TRUE(receiver.good);
  }

  TcpPair pair;
  Sending sending;
  std::uint32_t number = 0;
  int answer = 1;
};

TEST(TcpLane, AFullSocketTakesAPartAndSaysSo) {
  FullSocket full;
  TcpPair& pair = full.pair;
  ASSERT_EQ(full.answer, 0);
  EXPECT_TRUE(pair.client->want_write());
  EXPECT_FALSE(pair.client->writable());
  full.expect_all_to_arrive();
  EXPECT_FALSE(pair.client->want_write());
}

// It computes for longer than the time after which a system counts as gone.
TEST(TcpLane, APeerThatReadsNothingForLongIsNotLost) {
  FullSocket full;
  TcpPair& pair = full.pair;
  ASSERT_EQ(full.answer, 0);
  CheckingReceiver nothing(true);
  for (const std::uint64_t end = os::now_ns() + 5'000'000'000; os::now_ns() < end;) {
    pollfd ended{.fd = pair.client->descriptor(), .events = POLLOUT, .revents = 0};
    static_cast<void>(::poll(&ended, 1, 100));
    ASSERT_EQ(pair.client->poll(nothing, 4), 0) << pair.client->failure().text();
  }
  full.expect_all_to_arrive();
}

TEST(TcpConnector, NobodyListens) {
  auto endpoint = os::resolve("127.0.0.1:0");
  os::Endpoint nobody;
  { nobody = TcpListener::open(*endpoint).value()->endpoint(); }
  Status why;
  auto connector = TcpConnector::open(nobody);
  if (connector.ok()) {
    ASSERT_TRUE(eventually([&] { return (why = (*connector)->poll().status()).code() != Code::not_yet; }));
  } else {
    why = connector.status();
  }
  EXPECT_TRUE(why.error());
  EXPECT_NE(why.text().find("127.0.0.1"), std::string::npos) << why.text();
}

TEST(TcpListener, APortThatIsTaken) {
  auto endpoint = os::resolve("127.0.0.1:0");
  auto first = TcpListener::open(*endpoint);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(TcpListener::open((*first)->endpoint()).code(), Code::exists);
}

}  // namespace
}  // namespace couplet::link

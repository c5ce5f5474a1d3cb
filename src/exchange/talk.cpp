#include "exchange/talk.hpp"

#include <algorithm>
#include <utility>

#include "os/clock.hpp"
#include "wire/fields.hpp"

namespace couplet::exchange {
namespace {

constexpr std::size_t max_talk_bytes = 4096;
constexpr std::uint64_t look_interval_ns = 100'000'000;

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) noexcept {
  hash = (hash ^ number) * 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 29U);
}

std::string encode_status(const Status& status) {
  wire::FieldWriter writer;
  writer.put(static_cast<std::int32_t>(status.code()));
  writer.put_text(status.ok() ? std::string() : status.text().substr(0, max_talk_bytes));
  return writer.take();
}

Status decode_status(std::string_view image) {
  wire::FieldReader reader(image, "the outcome of a member");
  const auto code = reader.take<std::int32_t>("code", std::numeric_limits<std::int32_t>::min(), 0);
  std::string text = reader.take_text("text", max_talk_bytes);
  COUPLET_TRY(reader.finish());
  if (code == 0) return {};
  const bool is_known = std::string_view(code_name(code)) != "unknown";
  return {is_known ? static_cast<Code>(code) : Code::protocol, std::move(text)};
}

}  // namespace

std::uint32_t exchange_context(const message::Group& group, std::uint64_t epoch, std::uint64_t number) {
  return message::user_context(mix(mix(group.hash(), epoch), number)) | message::internal_context;
}

void GroupTalk::set_ports(std::uint32_t context, std::span<const std::int32_t> peers, std::function<Status()> news) {
  context_ = context;
  peers_.assign(peers.begin(), peers.end());
  news_ = std::move(news);
}

// The text of a timeout says which member is missing. A member that has failed, and has left after that, has said why
// before.
Status GroupTalk::missing(const Status& why, std::int32_t rank) const {
  if (why.code() == Code::peer_lost) {
    if (const Status told = news_(); !told.ok() && told.code() != Code::peer_lost) return told;
  }
  const std::string name = fmt::format("rank {} ({})", rank, message::Courier(messenger_).name(group_.peer(rank)));
  if (why.code() == Code::timeout) {
    return fail(Code::timeout, "{}: {} does not answer while it is frozen", title_, name);
  }
  if (why.answer()) return fail(Code::timeout, "{}: interrupted while it waited for {}", title_, name);
  return why.within(fmt::format("{}: {}", title_, name));
}

// A neighbour that has given up sends no answer, but says so.
Status GroupTalk::receive(std::string& answer, std::int32_t peer, std::int32_t tag) {
  while (true) {
    const std::uint64_t until_ns = std::min(deadline_ns_, os::now_ns() + look_interval_ns);
    Status came = messenger_.recv_internal(group_, context_, answer, peer, tag, until_ns);
    if (came.code() != Code::timeout || os::now_ns() >= deadline_ns_) return came;
    COUPLET_TRY(news_());
  }
}

Result<std::vector<std::string>> GroupTalk::swap(std::span<const std::string> texts) {
  const std::int32_t tag = calls_++;
  for (std::size_t port = 0; port < peers_.size(); ++port) {
    const Status sent = messenger_.send_internal(group_, context_, texts[port], peers_[port], tag);
    if (!sent.ok()) return missing(sent, peers_[port]);
  }
  std::vector<std::string> answers(peers_.size());
  for (std::size_t port = 0; port < peers_.size(); ++port) {
    const Status came = receive(answers[port], peers_[port], tag);
    if (!came.ok()) return missing(came, peers_[port]);
  }
  return answers;
}

Result<std::vector<std::string>> GroupTalk::gather(const std::string& text) {
  if (!failed_.ok()) return failed_;
  auto all = team_.gather(text, deadline_ns_);
  if (all.ok()) {
    has_gathered_ = true;
    return all;
  }
  failed_ = all.code() != Code::timeout || has_gathered_
                ? all.status().within(title_)
                : fail(Code::timeout, "{}: not all ranks of the group have frozen it under this name: {}", title_,
                       all.status().text());
  return failed_;
}

Status GroupTalk::agree(const Status& own) {
  auto all = gather(encode_status(own));
  if (!own.ok()) return own;
  if (!all.ok()) return all.status();
  for (const std::string& one : *all) COUPLET_TRY(decode_status(one));
  return {};
}

Result<std::vector<std::string>> PartTalk::swap(std::span<const std::string> texts) {
  std::vector<std::string> all(all_count_);
  for (std::size_t port = 0; port < ports_.size(); ++port) all[ports_[port]] = texts[port];
  COUPLET_TRY_VALUE(auto answers, whole_.swap(all));
  std::vector<std::string> own;
  own.reserve(ports_.size());
  for (const std::uint32_t port : ports_) own.push_back(std::move(answers[port]));
  return own;
}

}  // namespace couplet::exchange

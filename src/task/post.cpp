#include "task/post.hpp"

#include <xxhash.h>

#include <bit>
#include <utility>

namespace couplet::task {
namespace {

constexpr std::uint32_t post_context = message::internal_context | 0x7461736B;  // "task"

// May it come before somebody listens? Others are answers, which concern nobody any more.
bool begins(wire::LetterKind kind) noexcept {
  using wire::LetterKind;
  return kind == LetterKind::submit || kind == LetterKind::closed || kind == LetterKind::hello ||
         kind == LetterKind::goodbye || kind == LetterKind::withdraw || kind == LetterKind::ask;
}

}  // namespace

std::uint64_t space_of(std::string_view kind, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(kind.data(), kind.size()));
}

Post::Post(Environment& environment) : environment_(environment) {
  environment_.engine().add(*this, engine::Rate::often);
  receive();
}

Post::~Post() {
  environment_.engine().remove(*this);
}

void Post::receive() {
  auto& messenger = environment_.messenger();
  request_ = messenger.irecv_internal(messenger.universe_group(), post_context, image_);
}

Status Post::send(channel::PeerId target, const wire::Letter& letter) {
  if (target == environment_.self()) {
    deliver(target, letter);
    return {};
  }
  if (environment_.gone(target)) {
    return fail(Code::peer_lost, "{} is gone", environment_.peer_name(target));
  }
  auto& messenger = environment_.messenger();
  return messenger.send_internal(messenger.universe_group(), post_context, wire::encode_letter(letter),
                                 static_cast<std::int32_t>(target), 0);
}

Status Post::listen(std::uint64_t space, Listener& listener) {
  if (!listeners_.emplace(space, &listener).second) {
    return Code::exists;
  }
  ended_.erase(space);
  const auto found = kept_.find(space);
  if (found != kept_.end()) {
    const std::vector<Kept> letters = std::move(found->second);
    kept_.erase(found);
    for (const Kept& kept : letters) {
      kept_bytes_ -= kept.letter.payload.size();
      listener.letter(kept.source, kept.letter);
    }
  }
  return {};
}

void Post::forget(std::uint64_t space) {
  listeners_.erase(space);
}

void Post::end(std::uint64_t space) {
  forget(space);
  ended_.insert(space);
}

// A worker group that came late has nothing to do; a request is not taken.
void Post::turn_away(channel::PeerId source, const wire::Letter& letter) {
  wire::Letter answer;
  answer.space = letter.space;
  answer.number = letter.number;
  if (letter.kind == wire::LetterKind::hello) {
    answer.kind = wire::LetterKind::end;
  } else if (letter.kind == wire::LetterKind::submit) {
    answer.kind = wire::LetterKind::taken;
    answer.code = COUPLET_ERROR_PEER_LOST;
    answer.text = fmt::format("{} dispatches no more", environment_.peer_name(environment_.self()));
  } else {
    return;
  }
  static_cast<void>(send(source, answer));
}

void Post::deliver(channel::PeerId source, wire::Letter letter) {
  const auto found = listeners_.find(letter.space);
  if (found != listeners_.end()) {
    found->second->letter(source, std::move(letter));
  } else if (ended_.contains(letter.space)) {
    turn_away(source, letter);
  } else if (begins(letter.kind) && kept_bytes_ + letter.payload.size() <= largest_kept_bytes) {
    kept_bytes_ += letter.payload.size();
    auto& kept = kept_[letter.space];
    kept.push_back({source, std::move(letter)});
  }
}

void Post::lost(channel::PeerId peer, const Status& why) {
  const auto listeners = listeners_;  // who is told may stop listening
  for (const auto& [space, listener] : listeners) {
    if (listeners_.contains(space)) {
      listener->lost(peer, why);
    }
  }
}

int Post::poll(std::uint64_t /*now_ns*/, int budget) {
  if (request_ == nullptr) {
    receive();
  }
  int work = 0;
  while (work < budget && ready()) {
    couplet_message message{};
    const Status status = environment_.messenger().wait(&request_, 0, &message);
    std::string image = std::exchange(image_, {});
    if (!status.ok()) {  // died in the middle of a letter, or nobody is left to send one: the membership tells who
      break;             // and the next poll asks again
    }
    receive();
    ++work;
    auto letter = wire::decode_letter(image);
    if (letter) {
      deliver(static_cast<channel::PeerId>(message.source), std::move(letter).value());
    }
  }
  return work;
}

}  // namespace couplet::task

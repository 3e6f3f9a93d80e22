"""Learns the merges of a BPE vocabulary from words, each a string of symbols of one character."""

import collections
import heapq


def learn(words, most):
    """`words`: counts by word. At most `most` merges, (left, right). The most frequent pair comes
    first; among equals the one that sorts first."""
    symbols = [(list(word), count) for word, count in sorted(words.items())]
    counts, places = collections.Counter(), collections.defaultdict(set)
    for i, (word, count) in enumerate(symbols):
        for pair in zip(word, word[1:]):
            counts[pair] += count
            places[pair].add(i)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    merges = []
    while heap and len(merges) < most:
        count, pair = heapq.heappop(heap)
        if -count != counts[pair]:
            continue
        merges.append(pair)
        changed = set()
        for i in places.pop(pair):
            word, weight = symbols[i]
            for old in zip(word, word[1:]):
                counts[old] -= weight
                changed.add(old)
            word = merged(word, pair)
            symbols[i] = word, weight
            for new in zip(word, word[1:]):
                counts[new] += weight
                places[new].add(i)
                changed.add(new)
        for pair in changed:
            if counts[pair] > 1:
                heapq.heappush(heap, (-counts[pair], pair))
    return merges


def merged(word, pair):
    out, i = [], 0
    while i < len(word):
        if tuple(word[i:i + 2]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out

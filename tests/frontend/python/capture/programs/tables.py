"""Tables of dynamic programming, grids and games."""

import lamina.numpy as lnp
import numpy as np


def edit_distance(a, b):
    table = lnp.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a) + 1):
        table[i, 0] = i
    for j in range(len(b) + 1):
        table[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[len(a), len(b)]


def common_subsequence(a, b):
    table = lnp.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def knapsack(weights, values, capacity):
    best = lnp.zeros(12)
    for k in range(len(weights)):
        for c in range(capacity, -1, -1):
            if c >= weights[k]:
                best[c] = max(best[c], best[c - weights[k]] + values[k])
    return best[capacity]


def coin_change(coins, amount):
    ways = lnp.zeros(20, int)
    ways[0] = 1
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]


def increasing_subsequence(x):
    length = lnp.ones(len(x), int)
    for i in range(1, len(x)):
        for j in range(i):
            if x[j] < x[i] and length[j] + 1 > length[i]:
                length[i] = length[j] + 1
    return length.max()


def floyd_warshall(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


def bellman_ford(edges, weights, source):
    distance = lnp.full(5, lnp.inf)
    distance[source] = 0.0
    for _ in range(4):
        changed = False
        for (u, v), w in zip(edges, weights):
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            break
    return distance


def dijkstra(w, source):
    n = w.shape[0]
    distance = lnp.full(n, lnp.inf)
    done = lnp.zeros(n, bool)
    distance[source] = 0.0
    for _ in range(n):
        u, best = 0, lnp.inf
        for i in range(n):
            if not done[i] and distance[i] < best:
                u, best = i, distance[i]
        done[u] = True
        for v in range(n):
            if w[u, v] > 0 and distance[u] + w[u, v] < distance[v]:
                distance[v] = distance[u] + w[u, v]
    return distance


def life(board):
    n, m = board.shape
    new = lnp.zeros_like(board)
    for i in range(n):
        for j in range(m):
            count = 0
            for di in (-1, 0, 1):
                for dj in (-1, 0, 1):
                    if di or dj:
                        count += board[(i + di) % n, (j + dj) % m]
            if board[i, j] == 1 and count in (2, 3):
                new[i, j] = 1
            elif board[i, j] == 0 and count == 3:
                new[i, j] = 1
    return new


def tic_tac_toe(board):
    for player in (1, 2):
        for k in range(3):
            if (board[k] == player).all() or (board[:, k] == player).all():
                return player
        if board[0, 0] == board[1, 1] == board[2, 2] == player or board[0, 2] == board[1, 1] == board[2, 0] == player:
            return player
    return 0


def viterbi(start, transition, emission, observed):
    n, steps = len(start), len(observed)
    score = start * emission[:, observed[0]]
    back = lnp.zeros((steps, n), int)
    for t in range(1, steps):
        new = lnp.zeros(n)
        for j in range(n):
            best, where = 0.0, 0
            for i in range(n):
                p = score[i] * transition[i, j]
                if p > best:
                    best, where = p, i
            new[j] = best * emission[j, observed[t]]
            back[t, j] = where
        score = new
    path = lnp.zeros(steps, int)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def flood(grid, row, column):
    filled = lnp.zeros_like(grid)
    filled[row, column] = 1
    changed = True
    while changed:
        changed = False
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if grid[i, j] == 0 and filled[i, j] == 0:
                    near = 0
                    if i > 0:
                        near += filled[i - 1, j]
                    if j > 0:
                        near += filled[i, j - 1]
                    if i < grid.shape[0] - 1:
                        near += filled[i + 1, j]
                    if j < grid.shape[1] - 1:
                        near += filled[i, j + 1]
                    if near > 0:
                        filled[i, j] = 1
                        changed = True
    return filled


def minimum_path(grid):
    n, m = grid.shape
    cost = lnp.zeros((n, m))
    cost[0, 0] = grid[0, 0]
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                continue
            up = cost[i - 1, j] if i > 0 else lnp.inf
            left = cost[i, j - 1] if j > 0 else lnp.inf
            cost[i, j] = grid[i, j] + (up if up < left else left)
    return cost[n - 1, m - 1]


def pascal(n):
    row = lnp.zeros(8, int)
    row[0] = 1
    for i in range(1, n):
        for j in range(i, 0, -1):
            row[j] += row[j - 1]
    return row


def langton(board, steps):
    n = board.shape[0]
    i = j = n // 2
    di, dj = -1, 0
    for _ in range(steps):
        if board[i, j] == 0:
            di, dj = dj, -di
            board[i, j] = 1
        else:
            di, dj = -dj, di
            board[i, j] = 0
        i, j = (i + di) % n, (j + dj) % n
    return board


def saddle(x):
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            if x[i, j] == x[i].min() and x[i, j] == x[:, j].max():
                return i, j
    return -1, -1


def spiral_sum(x, stop):
    total, top, left = 0, 0, 0
    while top < stop:
        total += x[top, left] * (1 if top % 2 == 0 else -1)
        top += 1
        left = (left + 2) % x.shape[1]
    return total


def gauss(a, b):
    n = len(b)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[pivot, k]):
                pivot = i
        for j in range(n):
            a[k, j], a[pivot, j] = a[pivot, j], a[k, j]
        b[k], b[pivot] = b[pivot], b[k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i] = a[i] - factor * a[k]
            b[i] -= factor * b[k]
    x = lnp.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - (a[i] * x).sum()) / a[i, i]
    return x


def connected(adjacency):
    n = adjacency.shape[0]
    label = lnp.arange(n)
    changed = True
    while changed:
        changed = False
        for i in range(n):
            for j in range(n):
                if adjacency[i, j] and label[j] < label[i]:
                    label[i] = label[j]
                    changed = True
    return label


def topological_levels(depends):
    n = depends.shape[0]
    level = lnp.zeros(n, int)
    for _ in range(n):
        for i in range(n):
            for j in range(n):
                if depends[i, j] and level[i] <= level[j]:
                    level[i] = level[j] + 1
    return level


def n(*items):
    return np.array(items)


rng = np.random.default_rng(3)
INF = np.inf
CASES = {
    edit_distance: [(n(1, 2, 3, 4, 5, 6), n(1, 3, 3, 5, 6))],
    common_subsequence: [(n(1, 2, 3, 4, 5, 6), n(2, 4, 3, 6, 1))],
    knapsack: [(n(1, 3, 4, 5), n(1.0, 4.0, 5.0, 7.0), np.int64(7))],
    coin_change: [(n(1, 2, 5), np.int64(11))],
    increasing_subsequence: [(n(3, 1, 4, 1, 5, 9, 2, 6),)],
    floyd_warshall: [(n([0.0, 3, INF, 7], [8, 0, 2, INF], [5, INF, 0, 1], [2, INF, INF, 0]),)],
    bellman_ford: [(n([0, 1], [1, 2], [0, 2], [2, 3], [3, 4]), n(4.0, -2.0, 5.0, 1.0, 3.0), 0)],
    dijkstra: [(n([0.0, 4, 1, 0], [0, 0, 0, 1], [0, 2, 0, 5], [0, 0, 0, 0]), 0)],
    life: [((rng.random((5, 5)) > 0.6).astype(int),)],
    tic_tac_toe: [
        (n([1, 2, 0], [2, 1, 0], [0, 2, 1]),),
        (n([1, 2, 0], [1, 2, 0], [0, 2, 1]),),
        (n([1, 2, 1], [1, 2, 2], [2, 1, 1]),),
    ],
    viterbi: [(n(0.6, 0.4), n([0.7, 0.3], [0.4, 0.6]), n([0.5, 0.4, 0.1], [0.1, 0.3, 0.6]), n(0, 1, 2, 2))],
    flood: [(n([0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 1, 0]), 0, 0)],
    minimum_path: [(n([1.0, 3, 1], [1, 5, 1], [4, 2, 1]),)],
    pascal: [(np.int64(6),)],
    langton: [(np.zeros((7, 7), int), np.int64(20))],
    saddle: [(n([9, 8, 7], [5, 3, 2], [6, 6, 7]),), (n([1, 2], [0, 3]),)],
    spiral_sum: [(np.arange(30).reshape(6, 5), np.int64(5))],
    gauss: [(n([0.0, 2, 1], [1, -2, -3], [-1, 1, 2]), n(-8.0, 0.0, 3.0))],
    connected: [(n([0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]),)],
    topological_levels: [(n([0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]),)],
}
GRADIENTS = {minimum_path: "reverse", gauss: "reverse"}

export const TOKEN = 'chaos-Vb7nQ2xLr9TzKe4HsWp3';
